"""``python -m reclock.cli``: the command, where it is not known whether it is on the path."""

from reclock.cli import app

if __name__ == "__main__":
    app()

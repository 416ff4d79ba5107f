"""``python -m reclock``: the command ``reclock``."""

from reclock.cli import app

if __name__ == "__main__":
    app(prog_name="reclock")

"""``python -m reclock.cli``: the command, for callers that cannot rely on the PATH."""

from reclock.cli import app

if __name__ == "__main__":
    app()

"""Where every command meets its user: which environment it is for, and how an error ends it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from reclock.errors import ReclockError

Home = Annotated[
    Path | None, typer.Option("--home", help="folder of the environment", envvar="RECLOCK_HOME", show_default=".reclock")
]

Json = Annotated[bool, typer.Option("--json", help="print JSON, an object a line, for programs")]


@contextmanager
def errors_on_stderr() -> Iterator[None]:
    """A ``ReclockError`` becomes PostgreSQL-style lines on standard error and exit code 1; all else is a bug, and shows."""
    from reclock.cli.output import error_lines

    try:
        yield
    except ReclockError as error:
        for line in error_lines(error):
            print(line, file=sys.stderr)
        raise typer.Exit(1) from None

"""The option that names the environment, and the output of errors, which all commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from reclock.errors import ReclockError, known_failure

Home = Annotated[
    Path | None,
    typer.Option(
        "--home", help="folder of the environment", envvar="RECLOCK_HOME", show_default=".reclock"
    ),
]

Json = Annotated[bool, typer.Option("--json", help="print JSON, an object a line, for programs")]


@contextmanager
def errors_on_stderr() -> Iterator[None]:
    """Print a ``ReclockError``, what a disk refuses, and a missing extra like PostgreSQL on
    standard error, and exit with code 1. Other errors are bugs and propagate."""
    try:
        yield
    except ReclockError as error:
        _exit_with(error)
    except (OSError, ModuleNotFoundError) as failure:
        refusal = known_failure(failure)
        if refusal is None or isinstance(failure, ConnectionError | FileNotFoundError):
            raise
        _exit_with(refusal)


def _exit_with(error: ReclockError) -> NoReturn:
    from reclock.cli.output import error_lines

    for line in error_lines(error):
        print(line, file=sys.stderr)
    raise typer.Exit(1) from None

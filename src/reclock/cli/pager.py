"""Long results go through the user's pager, where a person reads them in a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from typing import TextIO, cast


class Pager:
    """Shows long results in the command of ``PSQL_PAGER`` or ``PAGER``, or in ``less``, if standard
    input and output are a terminal."""

    def __init__(self) -> None:
        self.is_on = True
        self.is_open = False
        """Whether the terminal may belong to the pager at this moment."""

    @contextmanager
    def output(self) -> Iterator[TextIO]:
        """Where one result is to be written.

        A block that is left early by the user, who left the pager, ends without an error.
        """
        command = _command() if self.is_on else []
        if not command:
            yield sys.stdout
            return
        output = _PagedOutput(self, command, shutil.get_terminal_size().lines - 1)
        try:
            with suppress(BrokenPipeError):
                yield cast(TextIO, output)
        finally:
            output.end()


def _command() -> list[str]:
    """Empty without a terminal, if the variable is empty, and if there is no such program."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return []
    command = shlex.split(os.environ.get("PSQL_PAGER", os.environ.get("PAGER", "less")))
    return command if command and shutil.which(command[0]) else []


class _PagedOutput(TextIOBase):
    """Keeps the first ``lines`` lines. A result that ends within them, or pauses as SUBSCRIBE does,
    goes to standard output, a longer one to the standard input of ``command``."""

    def __init__(self, pager: Pager, command: list[str], lines: int) -> None:
        self._pager, self._command, self._lines = pager, command, lines
        self._held: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._target: TextIO | None = None

    def write(self, text: str) -> int:
        if self._target is not None:
            return self._target.write(text)
        self._held.append(text)
        self._lines -= text.count("\n")
        if self._lines < 0:
            self._send_to(self._opened())
        return len(text)

    def flush(self) -> None:
        (self._target or self._send_to(sys.stdout)).flush()

    def end(self) -> None:
        """Show what is still held, and wait until the user leaves the pager."""
        with suppress(BrokenPipeError):
            self.flush()
        if self._process is not None:
            with suppress(BrokenPipeError):
                cast(TextIO, self._process.stdin).close()
            self._process.wait()
            self._pager.is_open = False

    def _opened(self) -> TextIO:
        self._pager.is_open = True
        environment = {"LESS": "SX", **os.environ}  # long lines are cut, not wrapped
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, text=True, env=environment
        )
        return cast(TextIO, self._process.stdin)

    def _send_to(self, target: TextIO) -> TextIO:
        self._target = target
        target.write("".join(self._held))
        return target

"""Statements and backslash commands, executed in one session."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import BinaryIO, TextIO

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.session.session import Session
from reclock.cli.output import Format, error_lines, print_result
from reclock.cli.pager import Pager
from reclock.cli.remote import RemoteCopyIn, RemoteCopyOut, RemoteSession
from reclock.cli.script import Command, Sql, command_of, interpolate, pieces
from reclock.cli.variables import Variables
from reclock.cli.waiting import until_done
from reclock.errors import InvalidOption, ReclockError

_StatementResult = Result | CopyOut | RemoteCopyOut | CopyIn | RemoteCopyIn


class Interpreter:
    """Runs statements in one session and prints their results. ``close`` closes the file that they
    go to."""

    def __init__(
        self,
        session: Session | RemoteSession,
        output: Format,
        commands: Mapping[str, Callable[[Interpreter, str], bool]],
        *,
        timing: bool,
    ) -> None:
        """``commands`` execute a backslash command with its argument, by name. They answer False
        if it failed, which they have said, or raise ``ReclockError`` or ``OSError``."""
        self.session = session
        self._commands = commands
        self.output = output
        self.timing = timing
        self.pager = Pager()
        self.variables = Variables()
        self.is_over = False
        self.has_failed = False
        """Whether an error was printed."""
        self.buffer = ""
        """The beginning of a statement that has not ended."""
        self.last = ""
        self._file: TextIO | None = None

    def run(self, text: str) -> bool:
        """True if every statement of ``text`` succeeded. The first error is printed and ends the
        run. Control-C cancels the running statement with such an error and keeps the session."""
        self.last = text
        return self._run_cancellable(text)

    def copy(self, text: str, data: BinaryIO | None = None) -> bool:
        """As ``run``, of a COPY whose data is in the file ``data``, or goes there."""
        return self._run_cancellable(text, data)

    def _run_cancellable(self, text: str, data: BinaryIO | None = None) -> bool:
        is_done = until_done(
            lambda: self._run(text, data),
            self.session.cancel,
            sys.stderr,
            lambda: self.pager.is_open,
        )
        self.has_failed |= not is_done
        return is_done

    def _run(self, text: str, data: BinaryIO | None) -> bool:
        last: _StatementResult | None = None
        try:
            started = time.perf_counter()
            for result in self.session.execute(text):
                self._print(result, data)
                if self.timing:
                    print(f"Time: {(time.perf_counter() - started) * 1000:.1f} ms")
                started = time.perf_counter()
                last = result
            if data is not None and isinstance(last, CopyOut | RemoteCopyOut):
                print_result(Result(last.tag), self.output, to=self._file)
        except ReclockError as error:
            for line in error_lines(error, text):
                print(line, file=sys.stderr)
            return False
        return True

    def _print(self, result: _StatementResult, data: BinaryIO | None) -> None:
        match result:
            case CopyOut() | RemoteCopyOut():
                with closing(result):
                    _write(result.lines, data or _binary(self._file or sys.stdout))
            case CopyIn() | RemoteCopyIn():
                for line in data or sys.stdin.buffer:
                    result.write(line)
                print_result(result.finish(), self.output, to=self._file)
            case _:
                # also if standard output or the pager is closed early
                with closing(result), self._output() as output:
                    print_result(result, self.output, to=output)

    def run_script(self, text: str) -> bool:
        """Run statements and backslash commands. False if an error ended the script: that of a
        statement or command does, unless ``ON_ERROR_STOP`` is off. An unknown command does only if
        it is on."""
        outer, self.buffer = self.buffer, ""
        try:
            for piece in pieces(text):
                is_run = self._take(piece, is_script=True)
                if not is_run and self._ends_script(piece):
                    return False
                if self.is_over:
                    return True
            return self._run_buffer() or self.variables.on_error_stop is False
        finally:
            self.buffer = outer

    def enter(self, text: str) -> bool:
        """Run the statements and the commands of text that a person typed. What does not end waits
        in the buffer. False if one of them failed: those after it do not run."""
        if self.buffer and not self.buffer[-1].isspace():
            self.buffer += "\n"
        text = self.take_buffer() + text
        return all(self._take(piece, is_script=False) for piece in pieces(text))

    def take_buffer(self) -> str:
        """The beginning of a statement, which is no longer in the buffer."""
        text, self.buffer = self.buffer, ""
        return text if text.strip() else ""

    def _take(self, piece: Sql | Command, *, is_script: bool) -> bool:
        if isinstance(piece, Command):
            return self._execute(piece)
        complete, rest = self._interpolated(piece.complete), self._interpolated(piece.open)
        if is_script and piece.is_last:
            complete, rest = complete + rest, ""
        if not complete:
            self.buffer += rest
            return True
        complete = self.take_buffer() + complete
        self.buffer = rest
        return self.run(complete)

    def _interpolated(self, text: str) -> str:
        """The text with its variables substituted; a script of megabytes takes a second for that."""
        return interpolate(text, self.variables.substitute) if any(self.variables) else text

    def _run_buffer(self) -> bool:
        text = self.take_buffer()
        return not text or self.run(text)

    def _ends_script(self, failed: Sql | Command) -> bool:
        is_unknown = isinstance(failed, Command) and failed.name not in self._commands
        on_error_stop = self.variables.on_error_stop
        return not is_unknown if on_error_stop is None else on_error_stop

    def meta(self, line: str) -> bool:
        """Execute a backslash command. False if it failed, which it has said."""
        return self._execute(command_of(line))

    def _execute(self, command: Command) -> bool:
        try:
            if command.name not in self._commands:
                raise InvalidOption(
                    f"unknown command {command.name}", hint=r"\? lists the commands"
                )
            return self._commands[command.name](self, command.argument)
        except (ReclockError, OSError) as error:
            lines = error_lines(error) if isinstance(error, ReclockError) else [f"ERROR:  {error}"]
            print(*lines, sep="\n", file=sys.stderr)
            self.has_failed = True
            return False

    def watch(self, text: str, pause_s: float, times: int | None) -> bool:
        """Run ``text`` every so many seconds: ``times`` times, or until Control-C or an error. The
        time is printed above tables, and no result goes to the pager."""
        paged, self.pager.is_on = self.pager.is_on, False
        numbers = count() if times is None else range(times)
        try:
            for number in numbers:
                if number:
                    time.sleep(pause_s)
                if self._file is None and self.output in (Format.TABLE, Format.EXPANDED):
                    print(f"{datetime.now():%Y-%m-%d %H:%M:%S} (every {pause_s:g}s)\n", flush=True)
                if not self.run(text):
                    return False
        except KeyboardInterrupt:
            pass
        finally:
            self.pager.is_on = paged
        return True

    def redirect(self, path: Path | None) -> None:
        """Results go to the file from here on, or to standard output. Raises ``OSError``."""
        file = path.open("w", encoding="utf-8") if path is not None else None
        self.close()
        self._file = file

    @contextmanager
    def redirected(self, path: Path) -> Iterator[None]:
        """Inside the block results go to the file. Raises ``OSError``."""
        with path.open("w", encoding="utf-8") as file:
            outer, self._file = self._file, file
            try:
                yield
            finally:
                self._file = outer

    def close(self) -> None:
        """Close the file that results go to. Repeating it is harmless."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _output(self) -> AbstractContextManager[TextIO]:
        """Where one result is to be written."""
        return self.pager.output() if self._file is None else nullcontext(self._file)


def _binary(output: TextIO) -> BinaryIO:
    """The output for data, which goes after the text that is written already."""
    output.flush()
    return output.buffer


def _write(arrays: Iterable[pa.LargeBinaryArray], to: BinaryIO) -> None:
    """Write data; an empty array says that no more is known yet."""
    for lines in arrays:
        to.writelines(lines.to_pylist())
        if not len(lines):
            to.flush()
    to.flush()

"""``reclock sql``: statements from the command line, from files, or typed into a shell with
history."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

import pyarrow as pa

from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.session.session import Session
from reclock.cli.output import Format, error_lines, print_notice, print_result
from reclock.cli.remote import RemoteCopyIn, RemoteCopyOut, RemoteSession
from reclock.cli.waiting import until_done
from reclock.config import Settings
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment

_HELP = r"""\d            relations          \d NAME   columns of a relation
\timing       timing on or off   \f FORMAT table, csv or json
\?            this help          \q        leave
Statements end with a semicolon."""


class Shell:
    """Runs statements in one session and prints their results."""

    def __init__(self, session: Session | RemoteSession, output: Format, *, timing: bool) -> None:
        self.session = session
        self.output = output
        self.timing = timing

    def run(self, text: str) -> bool:
        """True if every statement of ``text`` succeeded. The first error is printed and ends the
        run. Control-C cancels the running statement with such an error and keeps the session."""
        return until_done(lambda: self._run(text), self.session.cancel, sys.stderr)

    def _run(self, text: str) -> bool:
        try:
            started = time.perf_counter()
            for result in self.session.execute(text):
                match result:
                    case CopyOut() | RemoteCopyOut():
                        with closing(result):
                            _write(result.lines)
                    case CopyIn() | RemoteCopyIn():
                        for line in sys.stdin.buffer:
                            result.write(line)
                        print_result(result.finish(), self.output)
                    case _:
                        with closing(result):  # also if standard output is closed early
                            print_result(result, self.output)
                if self.timing:
                    print(f"Time: {(time.perf_counter() - started) * 1000:.1f} ms")
                started = time.perf_counter()
        except ReclockError as error:
            for line in error_lines(error):
                print(line, file=sys.stderr)
            return False
        return True

    def meta(self, line: str) -> bool:
        """Execute a backslash command. False ends the shell."""
        name, _, argument = line.rstrip("; ").partition(" ")
        match name:
            case r"\q":
                return False
            case r"\d" if argument:
                self.run(f"SHOW COLUMNS FROM {argument}")
            case r"\d":
                self.run("SHOW OBJECTS")
            case r"\timing":
                self.timing = not self.timing
                print(f"Timing is {'on' if self.timing else 'off'}.")
            case r"\f":
                try:
                    self.output = Format.named(argument.strip())
                except ReclockError as error:
                    print("\n".join(error_lines(error)), file=sys.stderr)
            case _:
                print(_HELP)
        return True


def _write(arrays: Iterable[pa.LargeBinaryArray]) -> None:
    """Write data to standard output; an empty array says that no more is known yet."""
    sys.stdout.flush()
    for lines in arrays:
        sys.stdout.buffer.writelines(lines.to_pylist())
        if not len(lines):
            sys.stdout.buffer.flush()
    sys.stdout.buffer.flush()


def run_shell(
    home: Path | None,
    *,
    commands: Iterable[str],
    files: Iterable[Path],
    output: str,
    timing: bool,
    user: str,
    url: str | None = None,
) -> bool:
    """True if a statement failed. Commands run before files; with neither, statements come from
    standard input.

    With ``url`` a server executes them, without it this process, over the environment at ``home``.
    """
    texts = [*commands, *(path.read_text() for path in files)]
    format_ = Format.named(output)
    with ExitStack() as scope:
        session: Session | RemoteSession
        if url is not None:
            session, where = scope.enter_context(RemoteSession(url, print_notice)), "server"
            history = Settings.load(home).home / "sql_history"
        else:
            environment = scope.enter_context(Environment.open(home))
            session = Session(environment, print_notice, user=user)
            where = f"environment {environment.stores.settings.home.absolute()}"
            history = environment.stores.settings.home / "sql_history"
        shell = Shell(session, format_, timing=timing)
        if not texts and not sys.stdin.isatty():
            texts = [sys.stdin.read()]
        if texts:
            return not all(shell.run(text) for text in texts)
        _interact(shell, where, history)
        return False


def _interact(shell: Shell, where: str, history: Path) -> None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import PostgresLexer

    words = [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "AS OF",
        "SHOW",
        "SOURCES",
        "CREATE",
        "EXPLAIN",
        "JOIN",
    ]
    prompt: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)) if history.parent.is_dir() else InMemoryHistory(),
        lexer=PygmentsLexer(PostgresLexer),
        completer=WordCompleter([*words, *shell.session.relation_names()], ignore_case=True),
        complete_while_typing=False,
    )
    print(f"reclock, {where}. \\? for help.")
    pending = ""
    while True:
        try:
            line = prompt.prompt("... " if pending else "reclock=> ")
        except KeyboardInterrupt:
            pending = ""
            continue
        except EOFError:
            return
        if not pending and line.lstrip().startswith("\\"):
            if not shell.meta(line.strip()):
                return
            continue
        pending += line + "\n"
        if line.rstrip().endswith(";"):
            shell.run(pending)
            pending = ""
        elif not pending.strip():
            pending = ""

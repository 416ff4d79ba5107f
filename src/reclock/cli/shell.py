"""``reclock sql``: statements from the command line, from files, or typed into a shell with
history."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from reclock.adapter.session.session import Session
from reclock.cli.interpreter import Interpreter
from reclock.cli.meta_commands import COMMANDS
from reclock.cli.output import Format, print_notice, print_replicas
from reclock.cli.remote import RemoteSession
from reclock.config import Settings
from reclock.runtime.environment import Environment


class Shell(Interpreter):
    """An interpreter with the commands of psql."""

    def __init__(self, session: Session | RemoteSession, output: Format, *, timing: bool) -> None:
        super().__init__(session, output, COMMANDS, timing=timing)


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
            scope.callback(print_replicas, environment)
            session = Session(environment, print_notice, user=user)
            where = f"environment {environment.stores.settings.home.absolute()}"
            history = environment.stores.settings.home / "sql_history"
        shell = Shell(session, format_, timing=timing)
        scope.callback(shell.close)
        if not texts and not sys.stdin.isatty():
            texts = [sys.stdin.read()]
        if texts:
            all(shell.run_script(text) for text in texts)
            return shell.has_failed
        _interact(shell, where, history)
        return False


def _interact(shell: Shell, where: str, history: Path) -> None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import PostgresLexer

    from reclock.cli.completion import ShellCompleter

    prompt: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)) if history.parent.is_dir() else InMemoryHistory(),
        lexer=PygmentsLexer(PostgresLexer),
        completer=ShellCompleter(shell.session, COMMANDS, lambda: shell.buffer),
        complete_while_typing=False,
        enable_open_in_editor=True,
    )
    print(f"reclock, {where}. \\? for help.")
    while not shell.is_over:
        try:
            line = prompt.prompt("... " if shell.buffer else "reclock=> ")
        except KeyboardInterrupt:
            shell.buffer = ""
            continue
        except EOFError:
            return
        shell.enter(line + "\n")

"""``reclock sql``: statements from the command line, from files, or typed into a shell with
history."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa

from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.session.session import Session
from reclock.cli.output import (
    Format,
    error_lines,
    print_notice,
    print_replicas,
    print_result,
)
from reclock.cli.pager import Pager
from reclock.cli.remote import RemoteCopyIn, RemoteCopyOut, RemoteSession
from reclock.cli.waiting import until_done
from reclock.config import Settings
from reclock.errors import InvalidOption, ReclockError
from reclock.runtime.environment import Environment

_LISTS = {
    r"\d": "OBJECTS",
    r"\dt": "TABLES",
    r"\dv": "VIEWS",
    r"\dm": "MATERIALIZED VIEWS",
    r"\di": "INDEXES",
    r"\ds": "SEQUENCES",
    r"\df": "FUNCTIONS",
    r"\dT": "TYPES",
    r"\dn": "SCHEMAS",
    r"\du": "ROLES",
    r"\l": "DATABASES",
}
"""What a command lists: of the first schema of the search path, unless its pattern names one."""

_RELKINDS = {
    r"\d+": "rvmiS",
    r"\dt+": "r",
    r"\dv+": "v",
    r"\dm+": "m",
    r"\di+": "i",
    r"\ds+": "S",
    r"\dp": "rvmS",
}
"""The kinds of relations that a command lists with details."""

_DETAILS = """pg_get_userbyid(relowner) AS owner,
    pg_size_pretty(pg_total_relation_size(c.oid)) AS size,
    obj_description(c.oid, 'pg_class') AS description"""

_PRIVILEGES = "relacl AS privileges"

_EXTENSIONS = "SELECT extname AS name, extversion AS version FROM pg_extension"

_WILDCARDS = {"*": "%", "?": "_", "%": r"\%", "_": r"\_", "\\": r"\\", "'": "''"}
"""A character of psql's patterns in the constant of a LIKE."""

_HELP = r"""\d [PATTERN]     objects             \d NAME     columns of a relation
\dt \dv \dm \di  tables, views, materialized views, indexes; \dt+ adds owners and sizes
\ds \df \dT      sequences, functions, types
\dn \du \l       schemas, roles, databases
\dp \dx          privileges, extensions
                 a pattern may follow each: \dt late*, \dt sales.*
\d+ NAME         columns and indexes of a relation
\sv NAME         the statement that creates a view
\c NAME          go to another database
\conninfo        database, role and server of the session
\i FILE          run a file          \watch [S]  repeat the last statements every S seconds (2)
\e               edit the last statements in $EDITOR, and run them if they were changed
\x               expanded rows       \f FORMAT   table, expanded, csv or json
\pset pager      pager on or off: long results go through $PSQL_PAGER, $PAGER or less
\timing          timing on or off    \q          leave
Statements end with a semicolon. Tab completes names, Control-X Control-E opens $EDITOR."""

_CONNECTION = """SELECT current_database() AS database, current_user AS role,
    current_setting('cluster') AS cluster, version() AS version"""

_WATCHED = re.compile(r"(?P<sql>.*\S.*?);?\s*\\watch\b(?P<seconds>[^;]*);?\s*")
"""A line that ends with the command, as psql takes it too."""


class Shell:
    """Runs statements in one session and prints their results."""

    def __init__(self, session: Session | RemoteSession, output: Format, *, timing: bool) -> None:
        self.session = session
        self.output = output
        self.timing = timing
        self.pager = Pager()
        self.is_over = False
        self.last = ""

    def run(self, text: str) -> bool:
        """True if every statement of ``text`` succeeded. The first error is printed and ends the
        run. Control-C cancels the running statement with such an error and keeps the session."""
        self.last = text
        return until_done(
            lambda: self._run(text), self.session.cancel, sys.stderr, lambda: self.pager.is_open
        )

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
                        # also if standard output or the pager is closed early
                        with closing(result), self.pager.output() as output:
                            print_result(result, self.output, to=output)
                if self.timing:
                    print(f"Time: {(time.perf_counter() - started) * 1000:.1f} ms")
                started = time.perf_counter()
        except ReclockError as error:
            for line in error_lines(error, text):
                print(line, file=sys.stderr)
            return False
        return True

    def run_script(self, text: str) -> bool:
        """Run statements, and lines that are backslash commands. False if one failed: those after
        it do not run."""
        for part in _parts(text):
            if not (self.meta(part) if part.startswith("\\") else self.run(part)):
                return False
            if self.is_over:
                break
        return True

    def meta(self, line: str) -> bool:
        """Execute a backslash command. False if it failed, which it has said."""
        try:
            return self._meta(line)
        except (ReclockError, OSError) as error:
            lines = error_lines(error) if isinstance(error, ReclockError) else [f"ERROR:  {error}"]
            print(*lines, sep="\n", file=sys.stderr)
            return False

    def _meta(self, line: str) -> bool:
        name, _, argument = line.strip().rstrip("; ").partition(" ")
        argument = argument.strip()
        match name:
            case r"\q":
                self.is_over = True
            case r"\?":
                print(_HELP)
            case r"\d+" if argument and not set("*?") & set(argument):
                return self.run(f"SHOW COLUMNS FROM {argument}; SHOW INDEXES FROM {argument}")
            case r"\d" if argument and not set("*?") & set(argument):
                return self.run(f"SHOW COLUMNS FROM {argument}")
            case _ if name in _LISTS:
                return self.run(f"SHOW {_LISTS[name]}{_matching(argument)}")
            case _ if name in _RELKINDS:
                facts = _PRIVILEGES if name == r"\dp" else _DETAILS
                return self.run(_relations(_RELKINDS[name], facts, argument))
            case r"\sv" if argument:
                return self.run(f"SHOW CREATE VIEW {argument}")
            case r"\dx":
                return self.run(_EXTENSIONS)
            case r"\c" if argument:
                return self.run(f"SET database = {argument}")
            case r"\conninfo":
                return self.run(_CONNECTION)
            case r"\pset" if argument == "pager":
                self.pager.is_on = not self.pager.is_on
                print(f"Pager is {'on' if self.pager.is_on else 'off'}.")
            case r"\i":
                return self.run_script(Path(argument).read_text())
            case r"\e":
                edited = _edited(self.last)
                return edited == self.last or self.run_script(edited)
            case r"\watch":
                return self.watch(self.last, argument)
            case r"\timing":
                self.timing = not self.timing
                print(f"Timing is {'on' if self.timing else 'off'}.")
            case r"\x":
                is_expanded = self.output is Format.EXPANDED
                self.output = Format.TABLE if is_expanded else Format.EXPANDED
                print(f"Expanded rows are {'off' if is_expanded else 'on'}.")
            case r"\f":
                self.output = Format.named(argument)
            case _:
                raise InvalidOption(f"unknown command {name}", hint=r"\? lists the commands")
        return True

    def watch(self, text: str, seconds: str) -> bool:
        """Run ``text`` every so many seconds, until Control-C or an error."""
        try:
            pause_s = float(seconds or 2)
        except ValueError:
            raise InvalidOption(f"not a number of seconds: {seconds.strip()}") from None
        try:
            while self.run(text):
                time.sleep(pause_s)
        except KeyboardInterrupt:
            return True
        return False


def _matching(pattern: str) -> str:
    """The clauses of SHOW for a pattern of psql."""
    schema, like = _schema_and_like(pattern)
    return (f" FROM {schema}" if schema else "") + (f" LIKE '{like}'" if like else "")


def _relations(kinds: str, facts: str, pattern: str) -> str:
    """The query for facts about the relations of these kinds that a pattern of psql selects."""
    schema, like = _schema_and_like(pattern)
    within = f"'{schema.lower()}'" if schema else "current_schema()"
    return f"""SELECT relname AS name, {facts}
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
        WHERE nspname = {within} AND strpos('{kinds}', relkind::text) > 0
        AND relname LIKE '{like or "%"}' ORDER BY relname"""


def _schema_and_like(pattern: str) -> tuple[str, str]:
    """The schema and the pattern of LIKE that a pattern of psql means, each empty if it is not
    there: of names, or of names in a schema that it names, such as ``sales.*``."""
    schema, _, names = pattern.rpartition(".")
    if set("*?") & set(schema):
        raise InvalidOption(
            "a pattern names one schema",
            hint="SELECT name, type FROM mz_objects lists the objects of all schemas",
        )
    return schema, "".join(_WILDCARDS.get(character, character) for character in names)


def _edited(text: str) -> str:
    """The text as the user's editor leaves it. Raises ``OSError``; ``InvalidOption`` if the editor
    fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(text)
        file.flush()
        status = subprocess.run([*shlex.split(editor), file.name], check=False).returncode
        if status:
            raise InvalidOption(
                f"the editor {editor} ended with status {status}; nothing was run",
                hint="the environment variable EDITOR names another one",
            )
        return Path(file.name).read_text()


def _parts(text: str) -> Iterator[str]:
    """The backslash commands of a script, which are lines that begin where no statement is open,
    and what is between them."""
    statements = ""
    for line in text.splitlines(keepends=True):
        is_between = not statements.strip() or statements.rstrip().endswith(";")
        if is_between and line.lstrip().startswith("\\"):
            if statements.strip():
                yield statements
            statements = ""
            yield line.lstrip()
        else:
            statements += line
    if statements.strip():
        yield statements


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
            scope.callback(print_replicas, environment)
            session = Session(environment, print_notice, user=user)
            where = f"environment {environment.stores.settings.home.absolute()}"
            history = environment.stores.settings.home / "sql_history"
        shell = Shell(session, format_, timing=timing)
        if not texts and not sys.stdin.isatty():
            texts = [sys.stdin.read()]
        if texts:
            return not all(shell.run_script(text) for text in texts)
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
        completer=WordCompleter(
            lambda: [*words, *shell.session.relation_names()], ignore_case=True
        ),
        complete_while_typing=False,
        enable_open_in_editor=True,
    )
    print(f"reclock, {where}. \\? for help.")
    pending = ""
    while not shell.is_over:
        try:
            line = prompt.prompt("... " if pending else "reclock=> ")
        except KeyboardInterrupt:
            pending = ""
            continue
        except EOFError:
            return
        if not pending and line.lstrip().startswith("\\"):
            shell.meta(line)
            continue
        if watched := _WATCHED.fullmatch(line):
            shell.last = pending + watched["sql"]
            shell.meta(rf"\watch {watched['seconds']}")
            pending = ""
            continue
        pending += line + "\n"
        if line.rstrip().endswith(";"):
            shell.run(pending)
            pending = ""
        elif not pending.strip():
            pending = ""

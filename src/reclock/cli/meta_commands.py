"""The backslash commands of the shell, by name. They are those of psql where it has them."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile

from reclock.cli.copy_command import parse_copy
from reclock.cli.interpreter import Interpreter
from reclock.cli.listings import (
    CONNECTION,
    EXTENSIONS,
    LISTS,
    RELKINDS,
    columns_statement,
    details_statement,
    is_pattern,
    list_statement,
)
from reclock.cli.output import Format
from reclock.cli.script import words
from reclock.cli.variables import boolean
from reclock.errors import InvalidOption

HELP = r"""\d [PATTERN]     objects             \d NAME     columns of a relation
\dt \dv \dm \di  tables, views, materialized views, indexes; \dt+ adds owners and sizes
\ds \df \dT      sequences, functions, types
\dn \du \l       schemas, roles, databases
\dp \dx          privileges, extensions
                 a pattern may follow each: \dt late*, \dt sales.*
\d+ NAME         columns and indexes of a relation
\sv NAME         the statement that creates a view
\c NAME          go to another database       \encoding  that of the client: UTF8
\conninfo        database, role and server of the session
\i FILE          run a file          \watch [S] [c=N]  repeat the last statements every S
                 seconds (2), or N times
\g [FILE]        run the statement, or the last ones again; results go to FILE
\gx [FILE]       the same, with expanded rows
\p \r            print the statement so far, or forget it
\o [FILE]        results go to FILE, from here on; without one, to the terminal
\copy NAME|(QUERY) FROM|TO 'FILE' [WITH (…)]     COPY with a file of this machine
\echo [-n] TEXT  print the text
\set [NAME [VALUE]]  \unset NAME    variables: :NAME, :'NAME' and :"NAME" in statements
\e               edit the last statements in $EDITOR, and run them if they were changed
\x [on|off]      expanded rows       \f FORMAT   table, expanded, csv or json
\pset pager      pager on or off: long results go through $PSQL_PAGER, $PAGER or less
\timing [on|off] timing on or off    \q          leave
Statements end with a semicolon. A command may follow one on its line. Tab completes names,
Control-X Control-E opens $EDITOR."""

_ENCODING = "UTF8"


def _list(name: str, shell: Interpreter, argument: str) -> bool:
    argument = _without_semicolon(argument)
    if name == r"\d" and not is_pattern(argument):
        return shell.run(columns_statement(argument))
    return shell.run(list_statement(name, argument))


def _list_details(name: str, shell: Interpreter, argument: str) -> bool:
    argument = _without_semicolon(argument)
    if name == r"\d+" and not is_pattern(argument):
        return shell.run(f"{columns_statement(argument)}; SHOW INDEXES FROM {argument}")
    return shell.run(details_statement(name, argument))


def _quit(shell: Interpreter, argument: str) -> bool:
    shell.is_over = True
    return True


def _help(shell: Interpreter, argument: str) -> bool:
    print(HELP)
    return True


def _show_view(shell: Interpreter, argument: str) -> bool:
    view = _required(r"\sv", _without_semicolon(argument))
    return shell.run(f"SHOW CREATE VIEW {view}")


def _extensions(shell: Interpreter, argument: str) -> bool:
    return shell.run(EXTENSIONS)


def _connect(shell: Interpreter, argument: str) -> bool:
    database = _required(r"\c", _without_semicolon(argument))
    return shell.run(f"SET database = {database}")


def _connection(shell: Interpreter, argument: str) -> bool:
    return shell.run(CONNECTION)


def _encoding(shell: Interpreter, argument: str) -> bool:
    encoding = _without_semicolon(argument)
    if not encoding:
        print(_ENCODING)
    elif encoding.upper().replace("-", "") != _ENCODING:
        raise InvalidOption(f'the encoding of the shell is {_ENCODING}, not "{encoding}"')
    return True


def _set_option(shell: Interpreter, argument: str) -> bool:
    option, *value = words(argument, shell.variables.substitute)[:2] or [""]
    if option != "pager":
        raise InvalidOption(f'unknown option "{option}"', hint=r"\pset pager is the only one")
    shell.pager.is_on = _switched(r"\pset pager", shell.pager.is_on, "".join(value))
    print(f"Pager is {'on' if shell.pager.is_on else 'off'}.")
    return True


def _include(shell: Interpreter, argument: str) -> bool:
    return shell.run_script(_path(shell, _required(r"\i", argument)).read_text())


def _edit(shell: Interpreter, argument: str) -> bool:
    if statements := shell.take_buffer():
        return shell.enter(_edited(statements))
    edited = _edited(shell.last)
    return edited == shell.last or shell.run_script(edited)


def _watch(shell: Interpreter, argument: str) -> bool:
    pause_s, times = 2.0, None
    for word in _without_semicolon(argument).split():
        name, equals, value = word.rpartition("=")
        try:
            if equals and "count".startswith(name):
                times = int(value)
            elif "interval".startswith(name):
                pause_s = float(value)
            else:
                raise InvalidOption(rf"\watch has no option {name}", hint=r"write \watch 2 c=10")
        except ValueError:
            kind = "times" if equals and "count".startswith(name) else "seconds"
            raise InvalidOption(f"not a number of {kind}: {value}") from None
    return shell.watch(shell.take_buffer() or shell.last, pause_s, times)


def _timing(shell: Interpreter, argument: str) -> bool:
    shell.timing = _switched(r"\timing", shell.timing, argument)
    print(f"Timing is {'on' if shell.timing else 'off'}.")
    return True


def _expand(shell: Interpreter, argument: str) -> bool:
    is_expanded = _switched(r"\x", shell.output is Format.EXPANDED, argument)
    shell.output = Format.EXPANDED if is_expanded else Format.TABLE
    print(f"Expanded rows are {'on' if is_expanded else 'off'}.")
    return True


def _format(shell: Interpreter, argument: str) -> bool:
    shell.output = Format.named(_without_semicolon(argument))
    return True


def _echo(shell: Interpreter, argument: str) -> bool:
    texts = words(argument, shell.variables.substitute)
    is_line = texts[:1] != ["-n"]
    print(*texts[not is_line :], end="\n" if is_line else "", flush=True)
    return True


def _set(shell: Interpreter, argument: str) -> bool:
    name, *values = words(argument, shell.variables.substitute) or [""]
    if name:
        shell.variables.set(name, "".join(values))
    else:
        print(*(f"{name} = '{value}'\n" for name, value in shell.variables), sep="", end="")
    return True


def _unset(shell: Interpreter, argument: str) -> bool:
    shell.variables.unset(_required(r"\unset", argument))
    return True


def _go(shell: Interpreter, argument: str) -> bool:
    text = shell.take_buffer() or shell.last
    with shell.redirected(_path(shell, argument)) if argument else nullcontext():
        return not text or shell.run(text)


def _go_expanded(shell: Interpreter, argument: str) -> bool:
    output, shell.output = shell.output, Format.EXPANDED
    try:
        return _go(shell, argument)
    finally:
        shell.output = output


def _print_buffer(shell: Interpreter, argument: str) -> bool:
    print(shell.buffer.strip() or shell.last.strip())
    return True


def _reset_buffer(shell: Interpreter, argument: str) -> bool:
    shell.buffer = ""
    print("Query buffer reset (cleared).")
    return True


def _redirect(shell: Interpreter, argument: str) -> bool:
    shell.redirect(_path(shell, argument) if argument else None)
    return True


def _copy(shell: Interpreter, argument: str) -> bool:
    command = parse_copy(argument)
    if command.path is None:
        return shell.copy(command.statement)
    with command.path.expanduser().open(command.mode) as file:
        return shell.copy(command.statement, file)


COMMANDS: Mapping[str, Callable[[Interpreter, str], bool]] = {
    **{name: partial(_list, name) for name in LISTS},
    **{name: partial(_list_details, name) for name in RELKINDS},
    r"\?": _help,
    r"\c": _connect,
    r"\conninfo": _connection,
    r"\copy": _copy,
    r"\dx": _extensions,
    r"\e": _edit,
    r"\echo": _echo,
    r"\encoding": _encoding,
    r"\f": _format,
    r"\g": _go,
    r"\gx": _go_expanded,
    r"\i": _include,
    r"\o": _redirect,
    r"\p": _print_buffer,
    r"\pset": _set_option,
    r"\q": _quit,
    r"\r": _reset_buffer,
    r"\set": _set,
    r"\sv": _show_view,
    r"\timing": _timing,
    r"\unset": _unset,
    r"\watch": _watch,
    r"\x": _expand,
}
"""What executes a command, by its name."""


def _required(command: str, argument: str) -> str:
    if not argument:
        raise InvalidOption(f"{command}: missing required argument")
    return argument


def _without_semicolon(argument: str) -> str:
    """An argument that needs no semicolon at its end, although one is often typed."""
    return argument.rstrip("; ")


def _switched(command: str, is_on: bool, argument: str) -> bool:
    """What a switch becomes: the other value without an argument."""
    argument = _without_semicolon(argument)
    return boolean(command, argument) if argument else not is_on


def _path(shell: Interpreter, argument: str) -> Path:
    """The file that an argument names."""
    names = words(argument, shell.variables.substitute)
    if argument.startswith("|"):
        raise InvalidOption("a command of the system is not supported here", hint="name a file")
    return Path(names[0].strip('"')).expanduser()


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

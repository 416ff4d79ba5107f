"""The shell and Control-C: the statement is cancelled, and the session goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from fixtures.replicas import QUICK, killing, processes
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from reclock.adapter.session.session import Session
from reclock.cli.completion import ShellCompleter
from reclock.cli.meta_commands import COMMANDS, HELP
from reclock.cli.output import Format
from reclock.cli.shell import Shell, run_shell
from reclock.cli.waiting import until_done
from reclock.runtime.environment import Environment

ENDLESS = (
    "SELECT count(*) FROM generate_series(1, 100000) a (n), generate_series(1, 100000) b "
    "(n), generate_series(1, 99) c (n)"
)


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Control-C is heard, also where the tests run in the background of a shell, which ignores it
    for them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Environment.initialise(tmp_path / "home") as environment:
        yield Shell(Session(environment), Format.TABLE, timing=False)


def test_control_c_cancels_the_statement_and_keeps_the_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        shell = Shell(session, Format.CSV, timing=False)
        assert shell.run("SET application_name = 'kept'; CREATE TABLE t (a int)")
        has_ended, pause = threading.Event(), threading.Event()

        def press() -> None:
            while not session.cancellation._interrupts and not has_ended.is_set():
                pause.wait(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        presser = threading.Thread(target=press)
        presser.start()
        assert not shell.run(ENDLESS)
        has_ended.set()
        presser.join()
        assert capsys.readouterr().err.splitlines()[0].startswith("ERROR:  57014: ")
        assert shell.run("SHOW application_name")
        assert capsys.readouterr().out == "application_name\nkept\n"


def test_a_script_has_backslash_commands_between_its_statements(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    included = tmp_path / "included.sql"
    included.write_text("INSERT INTO t VALUES (1, 'x'), (2, NULL);\n")
    script = rf"""CREATE TABLE t (number int, b text);
        \dt t*
        \i {included}
        \x
        SELECT * FROM t
          WHERE number = 1;
        \d t
        \q
        SELECT 'not reached';"""
    assert shell.run_script(script)
    out = capsys.readouterr().out
    assert "-[ RECORD 1 ]-\nnumber | 1\nb      | x\n(1 row)\n" in out
    assert ("| t " in out, "not reached" in out) == (True, False)
    assert "name     | number\n" in out  # \d, with expanded rows too


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (r"\dt", ["a_b", "acb"]),
        (r"\dt a_*", ["a_b"]),
        (r"\dt a?b", ["a_b", "acb"]),
        (r"\dt sales.*", ["late"]),
        (r"\dt sales.l?te", ["late"]),
        (r"\d sales.*", ["late"]),
        (r"\ds", ["ids"]),
        (r"\df", ["twice(integer)"]),
        (r"\dT m*", ["mood"]),
        (r"\dn sal*", ["sales"]),
        (r"\d+ sales.*", ["late"]),
        (r"\dt+ a?b", ["a_b", "acb"]),
        (r"\di+", ["i"]),
        (r"\dp *b", ["a_b", "acb"]),
        (r"\dx", []),
        (r"\sv twice_late", ["reclock.public.twice_late"]),
        (r"\d+ a_b", ["number", "default"]),  # a column, and the cluster of the index
    ],
)
def test_a_pattern_selects_names_in_a_schema(
    shell: Shell, command: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shell.output = Format.JSON
    assert shell.run("""CREATE SCHEMA sales; CREATE TABLE sales.late (a int);
        CREATE TABLE acb (a int); CREATE TABLE a_b (number int); CREATE INDEX i ON a_b (number);
        CREATE VIEW twice_late AS SELECT a FROM sales.late;
        CREATE SEQUENCE ids; CREATE TYPE mood AS ENUM ('low', 'high');
        CREATE FUNCTION twice(a int) RETURNS int LANGUAGE SQL AS 'SELECT 2 * a'""")
    assert shell.meta(command)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [next(iter(row.values())) for row in rows] == names


def test_the_connection_is_described(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.output = Format.CSV
    assert shell.meta(r"\conninfo")
    assert capsys.readouterr().out.splitlines()[1].startswith("reclock,reclock,default,")


def test_a_database_is_created_and_gone_to(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.output = Format.CSV
    assert shell.run_script("CREATE DATABASE shop;\n\\c shop\n\\conninfo\n")
    assert "shop,reclock,default," in capsys.readouterr().out


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard output of a shell that a person uses, on a screen of 24 lines."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setenv("LINES", "24")
    return terminal


def test_only_a_result_that_is_longer_than_the_screen_goes_to_the_pager(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = at_a_terminal(monkeypatch)
    paged = tmp_path / "paged"
    monkeypatch.setenv("PSQL_PAGER", f"tee {paged}")
    assert shell.run("SELECT * FROM generate_series(1, 18)")  # 23 lines, and the prompt
    assert (terminal.getvalue().count("\n"), paged.exists()) == (23, False)
    assert shell.run("SELECT * FROM generate_series(1, 19)")
    assert (terminal.getvalue().count("\n"), paged.read_text().count("\n")) == (23, 24)
    assert paged.read_text().endswith("(19 rows)\n")


@pytest.mark.parametrize("pager", ["", "no-such-pager", "head -n 1"])
def test_a_result_ends_without_an_error_whatever_the_pager_does(
    shell: Shell, pager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = at_a_terminal(monkeypatch)
    monkeypatch.setenv("PAGER", pager)
    assert shell.run("SELECT * FROM generate_series(1, 100000)")
    assert ("(100000 rows)" in terminal.getvalue()) == (pager != "head -n 1")
    assert not shell.pager.is_open


def test_the_pager_is_switched_off(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_a_terminal(monkeypatch)
    monkeypatch.setenv("PAGER", "false")
    assert shell.run_script("\\pset pager\nSELECT * FROM generate_series(1, 100);")
    assert "(100 rows)" in terminal.getvalue()


def test_the_last_statements_are_edited_and_run_if_they_were_changed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    assert shell.run("SELECT 'first' AS word;")
    monkeypatch.setenv("EDITOR", "sed -i s/first/second/")
    assert shell.meta(r"\e")
    assert "second" in capsys.readouterr().out
    assert shell.meta(r"\e")  # sed finds nothing to change
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("EDITOR", "false")
    assert not shell.meta(r"\e")
    assert "nothing was run" in capsys.readouterr().err
    monkeypatch.setenv("EDITOR", "no-such-editor")
    assert not shell.meta(r"\e")
    assert "no-such-editor" in capsys.readouterr().err


@pytest.mark.parametrize("type", ["index", "sink"])
def test_what_has_no_columns_says_how_its_definition_is_shown(
    shell: Shell, type: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run("CREATE TABLE t (a int)")
    assert shell.run("CREATE INDEX an_index ON t (a)")
    assert shell.run("CREATE SINK a_sink FROM t INTO FILES 'out' FORMAT CSV")
    name = {"index": "an_index", "sink": "a_sink"}[type]
    assert not shell.meta(rf"\d {name}")
    [statement] = re.findall(r"SHOW CREATE \w+ [\w.]+", capsys.readouterr().err)
    assert shell.run(statement)
    assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        *(r"\i nowhere.sql", r"\watch soon", r"\f pie", r"\d nowhere", r"\i", r"\o /no/file"),
        *(r"\dt *.*", r"\dt nowhere.*", r"\pset pie", r"\unset", r"\set a-b 1", r"\g |cat"),
        *(r"\copy t form x", r"\copy t to", r"\copy t from /no/file", r"\timing maybe"),
        *(r"\set ON_ERROR_STOP maybe", r"\encoding latin1", r"\copy t from program 'ls'"),
    ],
)
def test_a_command_that_fails_says_so_and_ends_its_script(
    shell: Shell, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not shell.run_script(f"{command}\nSELECT 'not reached';")
    captured = capsys.readouterr()
    assert (captured.out, captured.err.startswith("ERROR:  ")) == ("", True)


@pytest.mark.parametrize(
    ("setting", "printed"),
    [
        ("", ["1"]),
        (r"\set ON_ERROR_STOP", []),
        (r"\set ON_ERROR_STOP off", ["1", "2"]),
        ("\\set ON_ERROR_STOP on\n\\unset ON_ERROR_STOP", ["1"]),
    ],
)
def test_an_unknown_command_is_passed_over_and_an_error_if_the_script_says_so(
    shell: Shell, setting: str, printed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    script = f"{setting}\n\\nothing at all\n\\echo 1\nSELECT 1 FROM nowhere;\n\\echo 2\n"
    assert shell.run_script(script) == (printed == ["1", "2"])
    captured = capsys.readouterr()
    assert captured.out.split() == printed
    assert r"unknown command \nothing" in captured.err
    assert shell.has_failed


def test_variables_stand_for_text_constants_and_names(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.output = Format.JSON
    assert shell.run_script(r"""\set number 3
        \set word 'it''s a' ' b\\c'
        SELECT :number + 1 AS n, :'word' AS t, ':number' AS literal, 3::text AS "Odd :number";
        \set name 'Odd name'
        SELECT :number AS :"name" -- :number
        \gx
        \unset number
        \echo :number :'word' :name 'two  spaces' "quoted" x
        \echo -n a   b
        \set""")
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        r"""{"n": 4, "t": "it's a b\\c", "literal": ":number", "Odd :number": "3"}""",
        "-[ RECORD 1 ]-",
        "Odd name | 3",
        "(1 row)",
        r""":number  E'it''s a b\\c' Odd name two  spaces "quoted" x""",
        r"a bname = 'Odd name'",
        r"word = 'it's a b\c'",
    ]


def test_the_statement_so_far_is_printed_run_and_forgotten(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.output = Format.CSV
    assert shell.run_script(rf"""SELECT 1 AS a \p
        + 1 AS forgotten
        \r
        SELECT 2 AS b \g
        \p
        \g
        SELECT 3 AS c \g {tmp_path}/out \echo after
        SELECT ';' AS d, $$\x;$$ AS e; SELECT 5 AS f""")
    expected = "SELECT 1 AS a\nQuery buffer reset (cleared).\nb\n2\nSELECT 2 AS b\nb\n2\nafter\n"
    assert capsys.readouterr().out == expected + "d,e\n;,\\x;\nf\n5\n"
    assert (tmp_path / "out").read_text() == "c\n3\n"


def test_a_typed_statement_ends_with_a_semicolon_outside_of_quotes(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.output = Format.CSV
    for line in ("SELECT 'a;", "b' AS a\\echo between", ", 1 AS b; -- done", r"\g"):
        assert shell.enter(line + "\n")
    assert capsys.readouterr().out == "between\n" + 'a,b\n"a;\nb",1\n' * 2
    assert shell.buffer == ""


def test_results_go_to_a_file_until_they_no_longer_do(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results"
    assert shell.run_script(rf"""\o {file}
        SELECT 1 AS a;
        COPY (SELECT 2) TO STDOUT;
        \echo here
        \o
        \f csv
        SELECT 3 AS c;""")
    assert capsys.readouterr().out == "here\nc\n3\n"
    assert file.read_text().splitlines()[-2:] == ["(1 row)", "2"]


def test_copy_takes_and_gives_files_of_the_shell(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, copy = tmp_path / "it's.csv", tmp_path / "copy.csv"
    file.write_text("a,b\n1,x\n2,from\n")
    quoted = str(file).replace("'", "''")
    assert shell.run_script(rf"""CREATE TABLE t (a int, b text);
        \copy t (a, b) from '{quoted}' with (format csv, header)
        \copy (SELECT a FROM t WHERE b = 'from') to {copy} (format csv);
        \copy t to stdout
        \p""")
    assert copy.read_text() == "2\n"
    out = "CREATE TABLE\nCOPY 2\nCOPY 1\n1\tx\n2\tfrom\nCREATE TABLE t (a int, b text);\n"
    assert capsys.readouterr().out == out
    file.write_text("a,b\nnone,x\n")
    assert not shell.meta(rf"\copy t from '{quoted}' csv header")
    assert shell.meta(r"\encoding")
    assert capsys.readouterr().out == "UTF8\n"


def test_every_command_is_in_the_help() -> None:
    named = set(re.findall(r"\\\S+", HELP))
    assert {name for name in COMMANDS if name.rstrip("+") not in named} == {r"\?"}


def test_a_syntax_error_shows_its_line(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert not shell.run("SELECT 1;\n\tSELECT 'é', 2 FORM t;\nSELECT 3;")
    _, line, mark = capsys.readouterr().err.splitlines()[:3]
    assert line == "LINE 2: \tSELECT 'é', 2 FORM t;"
    assert line[mark.index("^") :].startswith("t;")
    assert mark.startswith(" " * len("LINE 2: ") + "\t")
    assert not shell.run("SELECT (")
    assert capsys.readouterr().err.splitlines()[1:3] == ["LINE 1: SELECT (", "                ^"]


def test_watch_repeats_the_last_statements_until_they_fail(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run("CREATE TABLE t (a int)")
    assert not shell.run_script("DROP TABLE t;\n\\watch 0")
    captured = capsys.readouterr()
    assert ("DROP TABLE" in captured.out, '"t"' in captured.err) == (True, True)


def test_watch_repeats_so_many_times_and_says_when(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_script("SELECT 7 AS seven \\watch i=0 c=2\n\\f csv\nSELECT 8 \\watch 0 c=1")
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith(" (every 0s)") for line in lines) == 2
    assert sum("7" in line.split() for line in lines) == 2
    assert lines[-2:] == ["?column?", "8"]
    assert shell.pager.is_on
    for mistake, message in (
        ("soon", "not a number of seconds: soon"),
        ("c=x", "not a number of times: x"),
        ("m=1", "\\watch has no option m"),
    ):
        assert not shell.run_script(f"SELECT 1 \\watch {mistake}")
        assert message in capsys.readouterr().err


def completions(shell: Shell, text: str) -> list[str]:
    completer = ShellCompleter(shell.session, COMMANDS, lambda: shell.buffer)
    event = CompleteEvent(completion_requested=True)
    return [completion.text for completion in completer.get_completions(Document(text), event)]


def test_names_are_completed_that_the_session_has_created(shell: Shell) -> None:
    assert shell.run('CREATE TABLE lately (amount int, "Days" int); CREATE TABLE other (ample int)')
    assert completions(shell, "SELECT * FROM late") == ["lately"]
    assert completions(shell, "SELECT * FROM public.late") == ["lately"]
    assert completions(shell, r"\d late") == ["lately"]
    assert completions(shell, r"\gs") == []
    assert completions(shell, r"\watc") == [r"\watch"]
    assert completions(shell, "sel") == ["SELECT"]
    assert completions(shell, "SELECT * FROM lately WHERE am") == ["amount"]
    assert completions(shell, "SELECT * FROM lately AS l WHERE l.day") == ['"Days"']
    shell.enter("SELECT * FROM LATELY\n")
    assert completions(shell, "WHERE am") == ["amount"]


def test_work_is_cancelled_until_it_ends() -> None:
    """The first request may come before there is anything to cancel."""
    requests = threading.Semaphore(0)

    def work() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(3):
            assert requests.acquire(timeout=30)
        return "ended"

    assert until_done(work, requests.release, sys.stderr) == "ended"


def test_what_work_raises_is_raised() -> None:
    def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        until_done(work, lambda: None, sys.stderr)


def test_a_replica_that_outlives_the_shell_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
    Environment.initialise(tmp_path).close()
    statements = ["CREATE CLUSTER c (SIZE '1'); CREATE TABLE t (a int)", "SET cluster = c; TABLE t"]
    with killing(tmp_path):
        failed = run_shell(
            tmp_path, commands=statements, files=(), output="csv", timing=False, user="reclock"
        )
        printed = capsys.readouterr()
        assert not failed, printed.err
        [replica] = processes(tmp_path)
    assert (
        f'the replica "c.r1" was started for this command and goes on as process {replica.pid}; '
        "it ends when nobody has needed it for 120 s"
    ) in printed.err

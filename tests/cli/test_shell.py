"""The shell and Control-C: the statement is cancelled, and the session goes on."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reclock.adapter.session.session import Session
from reclock.cli.output import Format
from reclock.cli.shell import Shell
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

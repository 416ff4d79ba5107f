"""Work that a person waits for at a terminal: they see that it goes on, and can cancel it with Control-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TextIO, TypeVar

T = TypeVar("T")

_LOOK_S = 0.1
_FIRST_SIGN_S, _NEXT_SIGN_S = 3.0, 10.0
"""When the first line about work that lasts is shown, and each next one."""


def until_done(work: Callable[[], T], cancel: Callable[[], None], to: TextIO) -> T:
    """What ``work`` returns or raises, which a thread of its own does.

    Control-C calls ``cancel``, again and again until the work ends, since it may not have begun what is to be cancelled.
    About work that lasts, lines on ``to``, if that is a terminal, say for how long it has been going on.
    """
    done: Future[T] = Future()
    with _control_c() as is_cancelled:
        began_s = time.monotonic()
        next_sign_s = began_s + _FIRST_SIGN_S
        threading.Thread(target=_fulfil, args=(done, work), name="statement", daemon=True).start()
        while not done.done():
            wait([done], timeout=_LOOK_S)
            if to.isatty() and time.monotonic() >= next_sign_s and not done.done():
                next_sign_s = time.monotonic() + _NEXT_SIGN_S
                doing = "cancelling" if is_cancelled.is_set() else "running; Control-C cancels"
                print(f"... {doing} ({time.monotonic() - began_s:.0f} s)", file=to, flush=True)
            if is_cancelled.is_set() and not done.done():
                cancel()
    return done.result()


@contextmanager
def _control_c() -> Iterator[threading.Event]:
    """The event is set when Control-C is pressed inside the block, which raises nothing. Where it is ignored, it stays so."""
    pressed = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is signal.SIG_IGN:
        yield pressed
        return
    signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _fulfil(done: Future[T], work: Callable[[], T]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:  # it is raised where the work is waited for
        done.set_exception(error)

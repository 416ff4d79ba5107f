"""Long work at a terminal: shows that it continues, and lets Control-C cancel it."""

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
"""Time until the first line about long work, and between later ones."""


def until_done(
    work: Callable[[], T],
    cancel: Callable[[], None],
    to: TextIO,
    is_quiet: Callable[[], bool] = lambda: False,
) -> T:
    """The result of ``work``, which runs in a thread of its own. Raises what it raises.

    Control-C calls ``cancel`` repeatedly until the work ends, since the cancelable part may not
    have begun. If ``to`` is a terminal, lines on it say how long the work has been running, except
    while ``is_quiet``.
    """
    future: Future[T] = Future()
    with _control_c() as is_cancelled:
        began_s = time.monotonic()
        next_sign_s = began_s + _FIRST_SIGN_S
        threading.Thread(target=_fulfil, args=(future, work), name="statement", daemon=True).start()
        while not future.done():
            wait([future], timeout=_LOOK_S)
            is_due = time.monotonic() >= next_sign_s and not future.done()
            if is_due and to.isatty() and not is_quiet():
                next_sign_s = time.monotonic() + _NEXT_SIGN_S
                doing = "cancelling" if is_cancelled.is_set() else "running; Control-C cancels"
                print(f"... {doing} ({time.monotonic() - began_s:.0f} s)", file=to, flush=True)
            if is_cancelled.is_set() and not future.done():
                cancel()
    return future.result()


@contextmanager
def _control_c() -> Iterator[threading.Event]:
    """Inside the block Control-C sets the event and raises nothing. If Control-C is ignored, it
    stays ignored."""
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


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # raised again by the caller that waits
        future.set_exception(error)

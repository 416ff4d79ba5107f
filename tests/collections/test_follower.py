"""Following in the background: once for all wakes, after a failure again, and at the latest at the
close."""

import threading

from reclock.collections.follower import Follower


def test_many_wakes_are_one_application_and_a_later_wake_another() -> None:
    calls, applied = [], threading.Event()

    def apply() -> None:
        calls.append(threading.current_thread())
        applied.set()

    follower = Follower(apply, delay_ms=50)
    for expected in (1, 2):
        for _ in range(5):
            follower.wake()
        assert applied.wait(30)
        applied.clear()
        with follower._at_work:
            assert len(calls) == expected
    assert threading.main_thread() not in calls
    follower.close()
    assert len(calls) == 2


def test_what_waits_is_done_at_the_close_and_nothing_after_it() -> None:
    calls = []
    follower = Follower(lambda: calls.append(threading.current_thread()), delay_ms=3_600_000)
    follower.wake()
    follower.close()
    follower.close()
    assert calls == [threading.main_thread()]


def test_a_failure_is_left_to_the_next_wake() -> None:
    calls = []

    def apply() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("the lake is away")

    follower = Follower(apply, delay_ms=3_600_000)
    for _ in range(2):
        follower.wake()
        follower.close()
    assert len(calls) == 2

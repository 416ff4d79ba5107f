"""One that hangs keeps nobody waiting, and no answer is left open."""

from __future__ import annotations

import threading

import pytest

from reclock.controllers.hedging import HedgedCall
from reclock.errors import EvaluationError, QueryCanceled, ReplicaLost


class Hangs:
    """Answers when it is let go."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def __call__(self) -> str:
        assert self.release.wait(60)
        return "late"


def lost() -> str:
    raise ReplicaLost("c.r1")


def wrong() -> str:
    raise EvaluationError("division by zero")


def nothing() -> None:
    """The pause of a caller without a timeout."""


def test_another_is_asked_beside_one_that_hangs_and_the_late_answer_is_disposed_of() -> None:
    hangs, disposed, is_disposed = Hangs(), [], threading.Event()

    def dispose(answer: str) -> None:
        disposed.append(answer)
        is_disposed.set()

    race = HedgedCall([hangs, lambda: "soon"], hedge_s=0.05, passes=(ReplicaLost,), dispose=dispose)
    assert race.run(nothing) == ((1, "soon"), [])
    hangs.release.set()
    assert is_disposed.wait(60)
    assert disposed == ["late"]


def test_another_is_asked_at_once_when_one_is_lost() -> None:
    answer, errors = HedgedCall(
        [lost, lambda: "soon"], hedge_s=3600, passes=(ReplicaLost,), dispose=print
    ).run(nothing)
    assert answer == (1, "soon")
    assert [type(error) for error in errors] == [ReplicaLost]
    answer, errors = HedgedCall(
        [lost, lost], hedge_s=3600, passes=(ReplicaLost,), dispose=print
    ).run(nothing)
    assert (answer, len(errors)) == (None, 2)


def test_an_error_that_is_an_answer_ends_it() -> None:
    with pytest.raises(EvaluationError):
        HedgedCall([wrong, lambda: "soon"], hedge_s=3600, passes=(ReplicaLost,), dispose=print).run(
            nothing
        )


def test_a_waiting_caller_can_be_interrupted_while_all_replicas_hang() -> None:
    hangs = Hangs()

    def cancel() -> None:
        raise QueryCanceled

    with pytest.raises(QueryCanceled):
        HedgedCall([hangs], hedge_s=3600, passes=(ReplicaLost,), dispose=print).run(cancel)
    hangs.release.set()

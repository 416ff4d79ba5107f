"""Waits of tests fail late, and say what did not come."""

from __future__ import annotations

import pytest
from fixtures import waiting


def test_a_wait_that_is_in_vain_names_what_it_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_S", 0)
    remaining = [3, 2, 1]
    with pytest.raises(AssertionError, match=r"0 s without .*len\(remaining\) == 0") as failure:
        waiting.eventually(lambda: len(remaining) == 0, lambda: remaining)
    assert "[3, 2, 1]" in str(failure.value)


def test_a_wait_answers_what_it_waited_for() -> None:
    answers = iter([None, 0, "", "here"])
    assert waiting.eventually(lambda: next(answers), pause_s=0) == "here"

"""A series that no engine computes is refused by its name."""

from __future__ import annotations

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import EvaluationError
from reclock.runtime.environment import Environment


def test_a_series_by_months_and_days_of_different_signs_is_refused(
    environment: Environment,
) -> None:
    session = Session(environment)
    start = "SELECT count(*) FROM generate_series(date '2024-01-01', date '2024-12-31', interval"
    assert run(session, f"{start} '1 month 1 day')") == [(12,)]
    with pytest.raises(EvaluationError, match="different signs") as failure:
        run(session, f"{start} '3 months -1 day')")
    assert failure.value.sqlstate == "0A000"
    session.close()

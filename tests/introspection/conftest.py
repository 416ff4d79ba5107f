"""What tests of introspection share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reclock.introspection.reports import Reports
from reclock.runtime.environment import Environment


@pytest.fixture
def reported(environment: Environment) -> Iterator[Reports]:
    """The environment as one whose sessions are reported, when the test says so."""
    times = (
        environment.stores.settings.introspection_sample_ms,
        environment.stores.settings.introspection_retention_ms,
    )
    environment.runtime.reports = Reports(
        environment.runtime.collection_manager,
        "p1",
        environment.stores.clock,
        *times,
        environment.control_plane.object_lags_ms,
    )
    environment.runtime.reports.step()
    yield environment.runtime.reports
    environment.runtime.reports = None

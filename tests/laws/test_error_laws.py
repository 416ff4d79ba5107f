"""A view has rows or an error at each time, whatever it had at other times: whenever its query has
an answer, so does its index."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

from fixtures.maintained import World
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections import selection
from reclock.errors import ReclockError
from reclock.pipeline import cluster_steps
from reclock.pipeline.maintenance import maintain

SETTINGS = {
    "RECLOCK_RETENTION_MS": "20",
    "RECLOCK_INDEX_RETENTION_MS": "10",
    "RECLOCK_VACUUM_GRACE_MS": "0",
    "RECLOCK_REFRESH_TIMES_LIMIT": "3",
}
VIEWS = {
    "quotients": "SELECT a / b AS x FROM t",
    "total": "SELECT sum(a / b) AS x FROM t",
    "distinct_ones": "SELECT DISTINCT a / b AS x FROM t WHERE a > 1",
}


class ErrorsAgainstQueries(RuleBasedStateMachine):
    """A table, and views on it that divide by one of its columns. The queries are asked of a
    cluster without indexes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="reclock-laws-")
        with mock.patch.dict("os.environ", SETTINGS):
            self.world = World(Path(self.folder.name))
        self.world.sql("CREATE TABLE t (a integer, b integer)")
        for name, query in VIEWS.items():
            self.world.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        self.world.environment.control_plane.storage_controller.step()
        self.indexes = [self.world.id_of(f"{name}_primary_idx") for name in VIEWS]
        self.small_files = selection.SMALL_FILES
        self.times: list[Timestamp] = []

    def teardown(self) -> None:
        selection.SMALL_FILES = self.small_files
        self.world.close()
        self.folder.cleanup()

    @rule(gap=st.integers(1, 8), a=st.integers(0, 3), b=st.integers(0, 2))
    def insert(self, gap: int, a: int, b: int) -> None:
        self.write(gap, f"INSERT INTO t VALUES ({a}, {b})")

    @rule(gap=st.integers(1, 8), b=st.integers(0, 2))
    def delete(self, gap: int, b: int) -> None:
        self.write(gap, f"DELETE FROM t WHERE b = {b}")

    @rule()
    def refresh(self) -> None:
        environment = self.world.environment
        at = environment.stores.oracle.read_ts(EPOCH_MS)
        report = cluster_steps.refresh(environment, "default", at, owner="test")
        assert all(index.upper == at + 1 for index in report.indexes), (
            "an error holds up later times"
        )
        for name, id in zip(VIEWS, self.indexes, strict=True):
            fails = self.answer(VIEWS[name], at) == "22012"
            assert environment.stores.statuses.current([id])[id].status == (
                "failing" if fails else "running"
            )

    @rule(small_files=st.integers(1, 8))
    def maintain(self, small_files: int) -> None:
        selection.SMALL_FILES = small_files
        for group in ("tables", *self.indexes):
            assert maintain(self.world.environment.stores, group).failed == {}

    @invariant()
    def each_index_has_what_its_query_has(self) -> None:
        frontiers = self.world.environment.stores.frontiers.get_all(["tables", *self.indexes])
        for name, id in zip(VIEWS, self.indexes, strict=True):
            since = max(frontiers[id].since, frontiers["tables"].since)
            for at in {*self.times[-3:], Timestamp(frontiers[id].upper - 1)}:
                if since <= at < frontiers[id].upper:
                    answer = self.answer(VIEWS[name], at)
                    contents = self.answer(f"SELECT x FROM {name}", at)
                    assert contents == answer, f"{name} at {at}"

    def answer(self, query: str, at: Timestamp) -> list[tuple[object, ...]] | str:
        """The rows, or the SQLSTATE of the error."""
        try:
            return sorted(self.world.sql(f"{query} AS OF {at}"), key=repr)
        except ReclockError as error:
            return error.sqlstate

    def write(self, gap: int, statement: str) -> None:
        self.world.now += gap
        self.world.sql(statement)
        self.times.append(self.world.environment.stores.oracle.read_ts(EPOCH_MS))


ErrorsAgainstQueries.TestCase.settings = settings(
    max_examples=8, stateful_step_count=12, suppress_health_check=list(HealthCheck)
)
test_an_index_has_an_answer_or_an_error_where_its_query_has = ErrorsAgainstQueries.TestCase

"""What introspection costs: CPU of reporting as a share of that of refreshes, and commits, with 10
indexes and 2 replicas."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import Timestamp
from reclock.controllers.subscribes import ReportedReplicas
from reclock.pipeline import cluster_steps
from reclock.runtime.environment import Environment

INDEXES = 10
ROUNDS = 20
"""Refreshes of all indexes: one a second, while replicas report every two, as they do by
default."""


def main() -> None:
    with tempfile.TemporaryDirectory() as home, Environment.initialise(Path(home)) as environment:
        session = Session(environment)
        _all(session, "CREATE TABLE t (a int, b int)")
        for number in range(INDEXES):
            _all(
                session,
                (
                    f"CREATE MATERIALIZED VIEW v{number} AS SELECT b, sum(a) AS s FROM t "
                    f"WHERE a > {number} GROUP BY b"
                ),
            )
        replicas = [
            ReportedReplicas(
                environment.control_plane.reported_replicas,
                environment.runtime.collection_manager,
                f"p{number}",
                environment.stores.clock,
            )
            for number in range(2)
        ]
        refreshing_s = reporting_s = 0.0
        commits = 0
        for round_ in range(-2, ROUNDS):  # the first two warm up
            rows = ", ".join(f"({number}, {number % 7})" for number in range(100))
            _all(session, f"INSERT INTO t VALUES {rows}")
            at = Timestamp(environment.stores.oracle.read_ts("epoch_ms"))
            began_s = time.process_time()
            report = cluster_steps.refresh(environment, "default", at, owner="benchmark")
            assert not report.failed
            between_s = time.process_time()
            refreshing_s += between_s - began_s if round_ >= 0 else 0
            if round_ % 2 == 0:
                for each in replicas:
                    each.step()
                has_written = environment.runtime.collection_manager.flush()
                reporting_s += time.process_time() - between_s if round_ >= 0 else 0
                commits += has_written and round_ >= 0
        print(f"CPU of a refresh of {INDEXES} indexes {1000 * refreshing_s / ROUNDS:8.1f} ms")
        print(f"CPU of a report of 2 replicas    {2000 * reporting_s / ROUNDS:8.1f} ms")
        print(f"of the CPU of refreshes          {100 * reporting_s / refreshing_s:8.1f} %")
        print(f"commits of a report              {2 * commits / ROUNDS:8.1f}")


def _all(session: Session, text: str) -> None:
    for result in session.execute(text):
        assert isinstance(result, Result)
        list(result.batches)

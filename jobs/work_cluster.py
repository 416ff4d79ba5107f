"""One cluster's part of a tick, its indexes and then its sinks, as one of its replicas, which lives
for as long, for spark-submit.

It is for a cluster whose replicas nobody sees to; where one lives by now, the work goes through
that. Exit code 0: every index and every target is up to the time, or as far as its inputs are. 1:
one is not; the error is on standard error.
"""

from __future__ import annotations

import argparse
import sys

from reclock.pipeline import cluster_steps
from reclock.runtime import task_replica
from reclock.runtime.environment import Environment


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", required=True, help="folder of the environment")
    parser.add_argument("--cluster", required=True, help="name of the cluster")
    parser.add_argument(
        "--at", required=True, type=int, help="write timestamp of the tick, in milliseconds"
    )
    parser.add_argument("--owner", required=True, help="name of the run, owner of the claims")
    arguments = parser.parse_args()
    with Environment.open(arguments.home) as environment, task_replica.living(environment):
        report = cluster_steps.work(
            environment, arguments.cluster, arguments.at, owner=arguments.owner
        )
    for done in (*report.indexes, *report.emitted):
        print(done)
    for failure in report.failed:
        told = [
            f"{failure.sqlstate}: {failure.name}: {failure.message}",
            failure.detail or "",
            failure.hint or "",
        ]
        print(*told, sep="\n", file=sys.stderr)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""One source's part of a tick, as a Spark application of its own, for spark-submit.

Exit code 0: staged or nothing new. 1: the source stalled; the error is on standard error and in
``mz_source_statuses``.
"""

from __future__ import annotations

import argparse
import sys

from reclock.errors import ReclockError
from reclock.pipeline import source_steps
from reclock.runtime.environment import Environment


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", required=True, help="folder of the environment")
    parser.add_argument(
        "--source", required=True, help="name of the source, as in reclock.public.flights"
    )
    parser.add_argument(
        "--at", required=True, type=int, help="write timestamp of the tick, in milliseconds"
    )
    parser.add_argument("--owner", required=True, help="name of the run, owner of the claim")
    arguments = parser.parse_args()
    with Environment.open(arguments.home) as environment:
        try:
            print(
                source_steps.ingest(
                    environment, arguments.source, arguments.at, owner=arguments.owner
                )
            )
        except ReclockError as error:
            print(
                f"{error.sqlstate}: {error.message}",
                error.detail or "",
                error.hint or "",
                sep="\n",
                file=sys.stderr,
            )
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

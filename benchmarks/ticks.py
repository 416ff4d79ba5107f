"""What a tick costs: with nothing new in 1, 10 and 100 sources, and with one small change in one of
them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figures import Figures, timed
from reclock.adapter.session.session import Session
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

RUNS = 7


def main() -> None:
    for count in (1, 10, 100):
        with (
            tempfile.TemporaryDirectory() as folder,
            Environment.initialise(Path(folder)) as environment,
        ):
            _measure(environment, Path(folder), count)


def _measure(environment: Environment, home: Path, count: int) -> None:
    session = Session(environment)
    bucket = home / "buckets" / "bench"
    for number in range(count):
        folder = bucket / f"s{number}"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("n\n1\n")
        text = (
            f"CREATE SOURCE s{number} (n integer) FROM S3 DISCOVER OBJECTS MATCHING 's{number}/*' "
            "USING BUCKET SCAN 'bench' FORMAT CSV WITH HEADER"
        )
        list(session.execute(text))
    environment.runtime.engines.spark()

    def run() -> None:
        report = tick.run(environment, owner="bench")
        assert report.succeeded, report.summary()

    def change() -> None:
        with (bucket / "s0" / "a.csv").open("a") as file:
            file.write("2\n")
        run()

    first = timed(run)
    run()
    idle = Figures(tuple(timed(run) for _ in range(RUNS)))
    change()
    small = Figures(tuple(timed(change) for _ in range(RUNS)))
    print(f"{count} sources: first tick, everything new {first:.2f} s")
    print(f"{count} sources: idle tick {idle}")
    print(f"{count} sources: tick with one row new in one of them {small}")

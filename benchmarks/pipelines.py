"""Spark Declarative Pipelines as a peer: a warm Spark Connect server, and a warm process beside it
that runs a pipeline of materialized views, whole or one view of it.

``python -m benchmarks.pipelines FOLDER`` is that process. It reads the names of views, a line each,
runs the pipeline for each line, and answers with an empty line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from pyspark.pipelines.cli import run
from pyspark.sql.connect.session import SparkSession

from benchmarks.ports import free_port
from benchmarks.tpch_queries import TPCH_VIEWS
from reclock.clusters import connect
from reclock.clusters.spark_options import variables
from reclock.config import Settings
from reclock.definitions.load_generators import GENERATED

_SPECIFICATION = """
name: tpch
storage: file://{folder}/storage
catalog: spark_catalog
database: default
configuration: {{spark.sql.sources.default: delta}}
libraries: [{{glob: {{include: "transformations/**"}}}}]
"""


class Pipelines:
    """The pipeline of the views ``names`` over the Delta tables in ``folder``."""

    def __init__(self, settings: Settings, folder: Path, names: Sequence[str]) -> None:
        self._log = folder / "pipeline.log"
        log = self._log.open("w")
        port = free_port()
        warehouse = f"--conf=spark.sql.warehouse.dir={folder}/warehouse"
        words = connect.command(settings, "127.0.0.1", port)
        self._server = subprocess.Popen(
            [*words[:-1], warehouse, words[-1]],
            env=os.environ | variables(settings),
            stdout=log,
            stderr=log,
        )
        self._runner = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.pipelines", str(folder), *names],
            env=os.environ | {"SPARK_REMOTE": f"sc://127.0.0.1:{port}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def refresh(self, *names: str) -> None:
        """Run the pipeline for these views, or for all of them."""
        assert self._runner.stdin
        assert self._runner.stdout
        print(*names, file=self._runner.stdin, flush=True)
        if not self._runner.stdout.readline():
            raise RuntimeError(f"the pipeline failed:\n{self._log.read_text()[-5000:]}")

    def close(self) -> None:
        for process in (self._runner, self._server):
            process.terminate()
            process.wait()


def main(folder: Path, names: Sequence[str]) -> None:
    """Define the pipeline, and run it for each line of standard input."""
    specification = folder / "spark-pipeline.yml"
    specification.write_text(_SPECIFICATION.format(folder=folder))
    (folder / "transformations").mkdir()
    spark = SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).getOrCreate()
    for name in GENERATED["TPCH"]:
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{folder / name}'")
    for name in names:
        query = TPCH_VIEWS[name]
        columns = ", ".join(f"c{number}" for number, _ in enumerate(spark.sql(query).columns))
        view = f"CREATE MATERIALIZED VIEW {name} AS SELECT * FROM ({query}) AS named ({columns})"
        (folder / "transformations" / f"{name}.sql").write_text(view)
    for line in sys.stdin:
        with redirect_stdout(sys.stderr):
            run(specification, [], False, line.split(), False)
        print(flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

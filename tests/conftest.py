"""What every test may use. Fixtures of a component live in ``fixtures/``, each started once and
stopped at the end."""

import gc
import os
import sys
from typing import Any, ClassVar

import pytest
from fixtures.frozen import freeze
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from xdist.scheduler import LoadFileScheduling

gc.disable()  # nothing is garbage until all tests are collected: see ``pytest_runtestloop``

os.environ["PYSPARK_PYTHON"] = sys.executable

# The Java processes of tests live for seconds: the second compiler and threads that collect garbage
# would take more time than the tests do.
FOR_SHORT_LIVES = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ["JDK_JAVA_OPTIONS"] = f"{os.environ.get('JDK_JAVA_OPTIONS', '')} {FOR_SHORT_LIVES}"

# Machines are slow at times. Every run draws the same examples, wherever it runs, so that a change
# is what made a test fail; ``--hypothesis-profile random`` draws others, in some laws more of them.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("random", _PATIENT, derandomize=False)
settings.register_profile("reclock", _PATIENT, derandomize=True, database=None)
settings.load_profile("reclock")

pytest_plugins = [
    "fixtures.postgres",
    "fixtures.publications",
    "fixtures.server",
    "fixtures.sessions",
    "fixtures.side_by_side",
    "fixtures.subscriptions",
    "fixtures.dbt",
    "fixtures.spark",
    "fixtures.engines",
    "fixtures.spark_cluster",
    "fixtures.objects",
    "fixtures.kafka",
    "fixtures.topics",
    "fixtures.emitters",
    "fixtures.kinesis",
    "fixtures.metastore",
    "fixtures.registry",
    "fixtures.pubnub_server",
]


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw no constants of the modules that happen to be imported: one that is added anywhere would
    change the examples of every law, and reading them all takes each process ten seconds."""
    if settings.get_current_profile_name() == "reclock":
        providers._get_local_constants = lambda: providers._local_constants


def pytest_addoption(parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what transcripts answer now")
    parser.addoption(
        "--catalog-commits",
        type=int,
        default=8,
        help="commits of each actor that races on a catalog",
    )
    parser.addoption(
        "--catalog-sequences",
        type=int,
        default=12,
        help="random transaction sequences that catalogs are compared on",
    )
    parser.addoption(
        "--maintained-plans",
        type=int,
        default=24,
        help="random plans that are maintained and compared",
    )
    parser.addoption(
        "--views-of", help="a folder of SQL files whose queries are maintained as views"
    )
    parser.addoption(
        "--on-spark",
        type=int,
        default=150,
        help="queries whose answers of Spark are compared with those of DuckDB",
    )
    parser.addoption(
        "--laws-on-spark",
        action="store_true",
        help="maintain the views of the laws on Spark, which takes minutes",
    )
    parser.addoption(
        "--sessions", type=int, default=200, help="mutated sessions that are sent to the SQL port"
    )
    parser.addoption(
        "--statements",
        type=int,
        default=200,
        help="mutated statements that are executed over the SQL port",
    )
    parser.addoption(
        "--histories",
        type=int,
        default=2,
        help="histories of tables, of 100 operations each, that are searched for an order",
    )
    parser.addoption(
        "--replica-kills", type=int, default=3, help="replicas that are killed while they refresh"
    )
    parser.addoption(
        "--planted",
        action="store_true",
        help="plant all bugs, not only some, to see that laws and histories find them",
    )
    parser.addoption(
        "--malformed", type=int, default=2_000, help="malformed records that each format decodes"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """From here on there is garbage, and none of it among the modules and thousands of tests."""
    freeze()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """What ends with the process is freed in order: libraries report what is left over."""
    gc.unfreeze()


LONG = (
    "tests/airflow/test_tick_runs.py",
    "tests/laws/test_maintained_sql.py",
    "tests/crashes/test_ingest_crashes.py",
    "tests/spark/test_data_source.py",
    "tests/behaviours/test_engines_read.py",
    "tests/behaviours/test_engine_functions.py",
    "tests/integration/test_delta_readers.py",
    "tests/sql/test_same_answer_on_spark.py",
    "tests/spark/test_streaming.py",
    "tests/integration/test_production_shape.py",
    "tests/airflow/test_operators_and_sensors.py",
    "tests/integration/test_drivers.py",
    "tests/behaviours/test_catalog_mending.py",
    "tests/airflow/test_demo.py",
    "tests/compute/test_failing_rows.py",
    "tests/server/test_spark_lost.py",
    "tests/laws/test_delta_rules.py",
    "tests/crashes/test_catalog_crashes.py",
    "tests/laws/test_maintained_equals_recomputed.py",
    "tests/airflow/test_source_pace.py",
    "tests/airflow/test_airflow_processes.py",
    "tests/behaviours/test_catalog_compaction.py",
    "tests/crashes/test_replica_kills.py",
    "tests/adapter/test_transactions.py",
    "tests/laws/test_views_of_sql_files.py",
    "tests/behaviours/test_durable_catalog.py",
    "tests/flows/test_flows.py",
    "tests/behaviours/test_engine_aggregates.py",
    "tests/integration/test_dbt.py",
    "tests/integration/test_postgres.py",
    "tests/compute/test_maintained_views.py",
    "tests/integration/test_kafka_sinks.py",
    "tests/integration/test_postgres_slots.py",
    "tests/backfill/test_backfill.py",
    "tests/crashes/test_registration_crashes.py",
)
"""Longest first, by the durations of a run of everything."""


TOGETHER = {
    "Airflow": (
        "tests/airflow/test_tick_runs.py",
        "tests/airflow/test_operators_and_sensors.py",
        "tests/airflow/test_airflow_processes.py",
        "tests/airflow/test_airflow_on_postgresql.py",
        "tests/airflow/test_backfill_runs.py",
        "tests/airflow/test_dag_files.py",
        "tests/airflow/test_maintenance_run.py",
        "tests/airflow/test_plugin.py",
        "tests/airflow/test_provider.py",
    ),
    "syntax trees": (
        "tests/structure/test_closed_types.py",
        "tests/structure/test_failpoints.py",
        "tests/structure/test_names.py",
        "tests/structure/test_names_in_messages.py",
        "tests/structure/test_packaging.py",
    ),
}
"""Files that one process executes, since starting or parsing what they need takes longer than most
of their tests."""


class _SchedulerOfFiles(LoadFileScheduling):
    """As ``--dist loadfile``; also what is ``TOGETHER`` is executed by one process."""

    _groups: ClassVar = {path: name for name, paths in TOGETHER.items() for path in paths}

    def _split_scope(self, nodeid: str) -> str:
        path = super()._split_scope(nodeid)
        return self._groups.get(path, path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return _SchedulerOfFiles(config, log) if config.getvalue("dist") == "loadfile" else None


SERVERS = {"postgres_server", "s3_endpoint", "kafka", "kinesis", "registry"}
"""Fixtures that start one."""


def pytest_itemcollected(item: pytest.Item) -> None:
    if SERVERS & set(getattr(item, "fixturenames", ())):
        item.add_marker("servers")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files come first, so that processes end at about the same time."""
    places = {path: place for place, path in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(LONG)))


@pytest.fixture
def malformed(request: pytest.FixtureRequest) -> int:
    number: int = request.config.getoption("malformed")
    return number

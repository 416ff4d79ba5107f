"""Events of OpenLineage about ticks, as a server receives them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fixtures.lineage import EventServer, event_server
from fixtures.server import RECLOCK
from structlog.testing import capture_logs

import reclock

SOURCE = """CREATE SOURCE {name} (k text, v integer) FROM S3
  DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN '{name}' FORMAT CSV WITH HEADER"""

VIEW = """CREATE MATERIALIZED VIEW totals AS SELECT n.name, sum(d.d) AS total
  FROM doubled AS d JOIN names AS n ON n.k = d.k GROUP BY n.name"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name, text in (("orders", "k,v\na,1\nb,2\n"), ("broken", "k,v\na,none\n")):
        folder = home / "buckets" / name
        folder.mkdir(parents=True)
        (folder / "1.csv").write_text(text)
    with reclock.connect(home, create=True) as client:
        client.sql(SOURCE.format(name="orders"))
        client.sql("CREATE TABLE names (k text, name text)")
        client.sql("INSERT INTO names VALUES ('a', 'ada')")
        client.sql("CREATE VIEW doubled AS SELECT k, v * 2 AS d FROM orders WHERE v > 0")
        client.sql(VIEW)
        client.sql("CREATE SINK daily IN CLUSTER default FROM totals INTO DELTA 'daily'")
    return home


def tick(home: Path, server: EventServer, **variables: str) -> list[dict[str, Any]]:
    """The events of one tick of the command."""
    server.events.clear()
    subprocess.run(
        [RECLOCK, "tick", "--home", str(home)],
        env=os.environ | {"OPENLINEAGE_URL": server.url} | variables,
        capture_output=True,
    )
    return list(server.events)


def names(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


def origins(fields: list[dict[str, Any]]) -> set[tuple[str, str, str, str]]:
    return {
        (field["name"], field["field"], how["type"], how["subtype"])
        for field in fields
        for how in field["transformations"]
    }


def test_a_tick_reports_what_it_read_and_wrote(home: Path) -> None:
    with event_server() as server:
        events = tick(home, server)
        jobs = {}
        for event in events:
            jobs.setdefault(event["job"]["name"], []).append(event)
        assert list(jobs) == [f"reclock.public.{name}" for name in ("orders", "totals", "daily")]
        for start, end in jobs.values():
            assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
            assert start["run"]["runId"] == end["run"]["runId"]
            assert start["eventTime"] <= end["eventTime"]
            assert end["producer"].startswith("urn:reclock:")
        ingested, refreshed, emitted = (end for _, end in jobs.values())
        assert names(ingested["inputs"]) == [("file", f"{home}/buckets/orders/**")]
        assert names(ingested["outputs"]) == names(refreshed["inputs"])[:1]
        assert ingested["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2
        schema = ingested["outputs"][0]["facets"]["schema"]["fields"]
        assert [(field["name"], field["type"]) for field in schema] == [
            ("k", "text"),
            ("v", "integer"),
        ]
        assert ingested["outputs"][0]["facets"]["symlinks"]["identifiers"][0]["type"] == "LOCATION"
        assert names(refreshed["inputs"]) == [
            ("reclock", "reclock.public.orders"),
            ("reclock", "reclock.public.names"),
        ]
        lineage = refreshed["outputs"][0]["facets"]["columnLineage"]
        orders, named = "reclock.public.orders", "reclock.public.names"
        assert {
            name: origins(field["inputFields"]) for name, field in lineage["fields"].items()
        } == {
            "name": {(named, "name", "DIRECT", "IDENTITY")},
            "total": {(orders, "v", "DIRECT", "AGGREGATION")},
        }
        assert origins(lineage["dataset"]) == {
            (orders, "k", "INDIRECT", "JOIN"),
            (named, "k", "INDIRECT", "JOIN"),
            (orders, "v", "INDIRECT", "FILTER"),
            (named, "name", "INDIRECT", "GROUP_BY"),
        }
        assert names(emitted["inputs"]) == names(refreshed["outputs"])
        assert names(emitted["outputs"]) == [("file", f"{home}/sinks/daily")]
        assert "SELECT" in refreshed["job"]["facets"]["sql"]["query"]
        assert tick(home, server) == []  # nothing is new


def test_a_failure_is_reported_and_a_server_that_refuses_fails_no_tick(home: Path) -> None:
    with reclock.connect(home) as client:
        client.sql(SOURCE.format(name="broken"))
    with event_server() as server:
        events = tick(home, server, RECLOCK_LINEAGE_NAMESPACE="prod")
        (failed,) = [event for event in events if event["eventType"] == "FAIL"]
        assert failed["job"]["name"] == "reclock.public.broken"
        assert failed["job"]["namespace"] == "prod"
        assert "record at byte" in failed["run"]["facets"]["errorMessage"]["message"]
        assert not failed["outputs"]
        with (home / "buckets" / "orders" / "1.csv").open("a") as file:
            file.write("a,3\n")
        with reclock.connect(home) as client:
            client.sql("DROP SOURCE broken")
        server.status = 400
        assert len(tick(home, server)) >= 1
    with reclock.connect(home) as client:
        assert client.sql("SELECT * FROM totals").rows() == [("ada", 8)]


def test_without_the_extra_the_log_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "openlineage", None)
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    # another test of this process may have imported Airflow's
    monkeypatch.delitem(sys.modules, "airflow.providers.openlineage", raising=False)
    with reclock.connect(home) as client, capture_logs() as logs:
        client.sql("INSERT INTO names VALUES ('b', 'bob')")
        client.tick()
    (warning,) = [log for log in logs if "lineage" in log["event"]]
    assert warning["hint"] == "pip install 'reclock[openlineage]'"

"""A process is monitored over HTTP: what a scrape shows, and what the dashboard and the alerts ask
for."""

from __future__ import annotations

import json
import os
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, Popen
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import psycopg
import pytest
import trustme
import yaml
from fixtures import forks
from fixtures.server import RECLOCK, SqlServer
from fixtures.waiting import PATIENCE_S, eventually
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from reclock.adapter.query.metrics import BUCKETS_NS, cumulative
from reclock.config.ports import PortSettings
from reclock.errors import InvalidOption, UnsafeHttpListener
from reclock.runtime.environment import Environment
from reclock.server.monitoring import Monitor, monitoring, split_address

MONITORING = Path(__file__).parents[2] / "docker" / "monitoring"
METRIC = re.compile(r"\b(?:reclock|process)_\w+")
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def get(address: str, path: str, authorities: Path | None = None) -> tuple[int, str]:
    """The answer, over https if there are ``authorities`` to prove the server's certificate."""
    scheme = "https" if authorities else "http"
    context = ssl.create_default_context(cafile=authorities) if authorities else None
    try:
        with urlopen(  # noqa: S310
            f"{scheme}://{address}{path}", timeout=60, context=context
        ) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def scrape(address: str) -> tuple[Series, set[str]]:
    """Values by name and labels, and all names under which a query can select one."""
    status, text = get(address, "/metrics")
    assert status == 200, text
    series: Series = {}
    names = set()
    for family in text_string_to_metric_families(text):
        suffixes = {"counter": ["_total"], "histogram": ["_bucket"]}.get(family.type, [""])
        names |= {family.name + suffix for suffix in suffixes}
        for sample in family.samples:
            series[sample.name, frozenset(sample.labels.items())] = sample.value
    return series, names


def values(series: Series, metric: str, /, **labels: str) -> list[float]:
    return [
        value
        for (known, of), value in series.items()
        if known == metric and labels.items() <= dict(of).items()
    ]


def address_in(log: Path) -> str:
    """The address that the process logged."""
    logged = re.compile(r"monitored over HTTP.*?address\W+(?:\x1b\[\d+m)*(127\.0\.0\.1:\d+)")
    found = eventually(lambda: logged.search(log.read_text()), log.read_text)
    assert found is not None
    return found[1]


@contextmanager
def running(home: Path, *command: str, **variables: str) -> Iterator[str]:
    """The address at which a process of the command answers over HTTP."""
    log_file = home / f"{command[0]}.log"
    with log_file.open("w") as log:
        process = Popen(
            [RECLOCK, *command, "--home", str(home)],
            env=os.environ | variables,
            stdout=DEVNULL,
            stderr=log,
        )
    try:
        yield address_in(log_file)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def test_a_server_shows_its_metrics_until_it_ends(
    new_server: Callable[..., SqlServer], tmp_path: Path
) -> None:
    server = new_server(
        tmp_path / "home", RECLOCK_SERVE_HTTP="127.0.0.1:0", RECLOCK_INTROSPECTION_SAMPLE_MS="500"
    )
    address = address_in(server.home / "serve.log")
    assert get(address, "/healthz") == (200, "ok\n")
    assert get(address, "/readyz") == (200, "ready\n")
    assert get(address, "/other")[0] == 404
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"http://{address}/metrics", b"", method="POST"), timeout=60)
    assert refused.value.code == 405
    with server.connect() as connection:
        connection.execute("CREATE TABLE words (word text)")
        for _ in range(40):  # more than are recorded of an interval
            connection.execute("INSERT INTO words VALUES ('one')")
        connection.execute("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM words")
        connection.execute("SELECT * FROM counted")
        for _ in range(2):
            with pytest.raises(psycopg.errors.DivisionByZero):
                connection.execute("SELECT 1 / (n - n) FROM counted")
        series, names = scrape(address)
        for name, type in (
            ("reclock.public.words", "table"),
            ("reclock.public.counted_primary_idx", "index"),
        ):
            [lag_s] = values(series, "reclock_object_lag_seconds", name=name, type=type)
            assert lag_s >= 0
        assert values(series, "reclock_statements_total", kind="insert", outcome="success") == [40]
        assert values(series, "reclock_statements_total", kind="query", outcome="error") == [2]
        assert values(series, "reclock_statement_errors_total") == [2]
        assert values(series, "reclock_statement_errors_total", sqlstate="22012") == [2]
        assert sum(values(series, "reclock_sessions")) == 1
        # reported a moment later
        eventually(
            lambda: values(scrape(address)[0], "reclock_query_duration_seconds_bucket", le="+Inf")
        )
        series, names = scrape(address)
        assert 1.0 in values(series, "reclock_replica_online")
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    rules = [
        rule
        for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [rule["expr"] for rule in rules]
    page = (MONITORING.parents[1] / "docs" / "monitoring.md").read_text()
    named = {metric for query in queries for metric in METRIC.findall(query)}
    assert len(named) > 10
    assert named - names == set()
    assert {
        name for name in names if name.startswith("reclock_") and f"`{name}`" not in page
    } == set()
    server.kill()
    with pytest.raises(URLError):
        urlopen(f"http://{address}/healthz", timeout=60)


def test_a_stalled_source_shows_in_a_ticking_process(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "home" / "buckets" / "planes"
    assert forks.command("init", "--home", str(home)) == 0
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id,name\n1,one\n")
    create = """CREATE SOURCE planes (id bigint NOT NULL, name text)
        FROM S3 DISCOVER OBJECTS MATCHING '*.csv' USING BUCKET SCAN 'planes' FORMAT CSV WITH HEADER"""
    assert forks.command("sql", "--home", str(home), "-c", create) == 0
    with running(home, "tick", "--every", "1s", RECLOCK_TICK_HTTP="0") as address:
        labels = {"name": "reclock.public.planes", "type": "source"}

        def until(metric: str, value: float, /, **labels: str) -> None:
            eventually(
                lambda: values(scrape(address)[0], metric, **labels) == [value],
                lambda: (metric, value, (home / "tick.log").read_text()),
            )

        until("reclock_source_updates_total", 1, name=labels["name"])
        until("reclock_object_stalled", 0, **labels)
        until("reclock_audit_failed", 0, name=labels["name"])
        # bytes that are bound already change
        (folder / "a.csv").write_text("id,name\n2,another, shorter\n")
        until("reclock_object_stalled", 1, **labels)


@pytest.mark.parametrize(
    "command",
    [
        ("serve", "--port", "0"),
        ("tick", "--every", "1s"),
        ("replica", "--cluster", "c", "--replica", "r1"),
    ],
)
def test_each_process_encrypts_with_the_certificate_of_the_sql_port(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    authority, home = trustme.CA(), tmp_path / "home"
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate.pem")
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    settings = {
        f"RECLOCK_{command[0].upper()}_HTTP": "https://127.0.0.1:0",
        "RECLOCK_TLS_CERTIFICATE": str(tmp_path / "certificate.pem"),
        "RECLOCK_TLS_KEY": str(tmp_path / "key.pem"),
        "RECLOCK_REPLICA_AUTOSTART": "false",
        "RECLOCK_REPLICA_WARM_UP": "false",
    }
    assert forks.command("init", "--home", str(home)) == 0
    assert forks.command("sql", "--home", str(home), "-c", "CREATE CLUSTER c SIZE '1'") == 0
    with running(home, *command, **settings) as address:
        assert get(address, "/healthz", tmp_path / "authority.pem") == (200, "ok\n")
        with pytest.raises(URLError, match="certificate verify failed"):
            urlopen(f"https://{address}/healthz", timeout=60)


def test_without_a_certificate_nothing_is_encrypted() -> None:
    with (
        pytest.raises(InvalidOption, match="no certificate"),
        monitoring("https://127.0.0.1:0", PortSettings()),
    ):
        pass


def test_a_process_that_has_not_joined_is_healthy_but_not_ready() -> None:
    monitor = Monitor("127.0.0.1", 0)
    try:
        assert get(monitor.address, "/healthz")[0] == 200
        assert get(monitor.address, "/readyz")[0] == 503
        assert get(monitor.address, "/metrics")[0] == 503
        with monitoring(monitor.address, PortSettings(), is_optional=True) as second:
            assert second is None  # the port is taken
    finally:
        monitor.close()


def test_a_process_whose_lake_is_gone_is_not_ready(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path / "home") as environment:
        monitor = Monitor("127.0.0.1", 0)
        with monitor.watching(environment):
            assert get(monitor.address, "/readyz") == (200, "ready\n")
            lake = tmp_path / "home" / "lake"
            lake.rename(tmp_path / "elsewhere")
            status, reason = get(monitor.address, "/readyz")
            assert status == 503
            assert reason.startswith("the lake is older than consensus: it is empty")
            lake.mkdir()
            assert get(monitor.address, "/readyz")[0] == 503
            lake.rmdir()
            (tmp_path / "elsewhere").rename(lake)
            assert get(monitor.address, "/readyz")[0] == 200
        monitor.close()


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "10.1.2.3:9187", "example.org:9187"])
def test_only_loopback_is_listened_on_unless_a_setting_allows_more(address: str) -> None:
    for is_optional in (False, True):
        with (
            pytest.raises(UnsafeHttpListener),
            monitoring(address, PortSettings(), is_optional=is_optional),
        ):
            pass


def test_all_addresses_are_listened_on_if_that_is_allowed() -> None:
    with monitoring("0.0.0.0:0", PortSettings(http_remote=True)) as monitor:
        assert monitor is not None
        assert get(f"127.0.0.1:{monitor.address.rpartition(':')[2]}", "/healthz")[0] == 200


def test_addresses() -> None:
    assert split_address("9187") == split_address(":9187") == ("127.0.0.1", 9187)
    assert split_address("[::1]:0") == ("::1", 0)
    assert split_address("10.0.0.1:80") == ("10.0.0.1", 80)
    for text in ("", "host", "host:", "host:x", "host:65536"):
        with pytest.raises(InvalidOption):
            split_address(text)


@given(st.dictionaries(st.integers(0, 45).map(lambda power: 2**power), st.integers(1, 1000)))
def test_buckets_count_all_durations_up_to_their_bounds(counts: dict[int, int]) -> None:
    buckets = cumulative(counts)
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    assert buckets[-1] == ("+Inf", sum(counts.values()))
    for (bound_s, count), bound in zip(buckets[:-1], BUCKETS_NS, strict=True):
        assert float(bound_s) == pytest.approx(bound / 1e9, rel=1e-4)
        assert count == sum(counts[upper] for upper in counts if upper <= bound)

"""What `reclock source check` says of each upstream, before and after the first tick."""

from __future__ import annotations

from typing import Any

from fixtures.kafka import Broker
from fixtures.publications import Lakehouse, Upstream
from fixtures.pubnub_server import Service, channel_name

from reclock.adapter.statements.sources.check import check_source


def checked(here: Lakehouse, name: str) -> dict[str, tuple[bool, str]]:
    return {
        found.name: (found.ok, found.detail)
        for found in check_source(here.environment, name, timeout_s=60)
    }


def test_a_publication(upstream: Upstream, here: Lakehouse) -> None:
    upstream.table("t (n int)")
    upstream.table("kept (n int)")
    here.create(upstream, "FOR TABLES (t, kept)")
    checks = checked(here, "pg")
    assert checks["wal_level"] == (True, "logical; it must be logical")
    assert checks["publication"] == (True, '"p" has 2 tables')
    assert checks["table public.t"] == checks["table public.kept"] == (True, "in the publication")
    assert checks["slot"][1].endswith("copying the tables makes it")
    assert checks["probe"] == (True, "the first tick reads it from the beginning")
    assert here.tick() == []
    checks = checked(here, "pg")
    assert all(is_fine for is_fine, _ in checks.values()), checks
    assert "stands at" in checks["slot"][1]
    assert checks["probe"][1].endswith("1 are bound")
    upstream.run("DROP PUBLICATION p", "CREATE PUBLICATION p FOR TABLE kept")
    checks = checked(here, "pg")
    assert checks["table public.t"] == (False, "not in the publication; SELECT is not granted")
    assert checks["table public.kept"] == (True, "in the publication")


def test_a_slot_that_does_not_have_the_next_changes_is_missing(
    upstream: Upstream, here: Lakehouse
) -> None:
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    [(slot, _)] = upstream.slots()
    upstream.run("INSERT INTO t VALUES (1)")
    upstream.run(f"SELECT pg_replication_slot_advance('{slot}', pg_current_wal_lsn())")
    is_fine, detail = checked(here, "pg")["slot"]
    assert (is_fine, "let another reader move the replication slot" in detail) == (False, True)
    upstream.run(f"SELECT pg_drop_replication_slot('{slot}')")
    is_fine, detail = checked(here, "pg")["slot"]
    assert (is_fine, "no longer has the replication slot" in detail) == (False, True)


def test_a_topic(kafka: Broker, here: Lakehouse) -> None:
    topic = kafka.topic(2)
    here.sql(f"CREATE SOURCE s FROM KAFKA BROKER '{kafka.address}' TOPIC '{topic}' FORMAT TEXT")
    kafka.send(topic, [b"a", b"b"], 1)
    found = checked(here, "s")
    assert all(is_fine for is_fine, _ in found.values()), found
    assert found["messages"][1] == "0: offsets 0 to 0, 1: offsets 0 to 2"
    assert found["probe"][1] == "1 partitions have something new, 0 are bound"
    kafka.delete(topic)
    assert [what for what, (is_fine, _) in checked(here, "s").items() if not is_fine] == [
        "upstream"
    ]


def test_a_topic_that_is_missing_is_told_when_its_source_is_created(
    kafka: Broker, here: Lakehouse
) -> None:
    topic, create = kafka.topic(), f"FROM KAFKA BROKER '{kafka.address}' TOPIC '%s' FORMAT TEXT"
    here.sql("CREATE SOURCE fine " + create % topic)
    assert here.notices == []
    here.sql("CREATE SOURCE early " + create % f"{topic}-later")
    assert here.notices == [
        f'the broker at "{kafka.address}" has no topic "{topic}-later" yet; '
        "the source stalls until there is one"
    ]


def test_a_stream(kinesis: Any, here: Lakehouse) -> None:
    stream = kinesis.stream(2)
    arn = f"arn:aws:kinesis:us-east-1:000000000000:stream/{stream}"
    here.sql(f"CREATE SOURCE s FROM KINESIS ARN '{arn}' ENDPOINT '{kinesis.endpoint}' FORMAT TEXT")
    kinesis.put(stream, [b"a"], 0)
    found = checked(here, "s")
    assert all(is_fine for is_fine, _ in found.values()), found
    assert found["shards"][1] == "2; open: 0, 1"


def test_a_channel(pubnub_service: Service, here: Lakehouse) -> None:
    channel = channel_name()
    here.sql(
        f"CREATE SOURCE s FROM PUBNUB SUBSCRIBE KEY 'demo' CHANNEL '{channel}' ORIGIN "
        f"'{pubnub_service.origin}'"
    )
    found = checked(here, "s")
    assert all(is_fine for is_fine, _ in found.values()), found
    assert found["service"][1].startswith("region 4, timetoken ")

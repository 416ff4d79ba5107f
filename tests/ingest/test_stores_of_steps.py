"""Every type of value, and every kind of store, on the whole way of a step."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from fixtures.objects import BUCKET, World, no_spark, s3_client

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    REAL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    numeric,
)
from reclock.definitions.formats import JsonFormat
from reclock.definitions.sources import ObjectsConnector, SourceSpec
from reclock.errors import UpstreamChanged


def test_every_type_survives_the_whole_way(tmp_path):
    values = {
        "n": (INTEGER, 1),
        "text": (TEXT, 'é 日本 "b"\t\n\\'),
        "empty": (TEXT, ""),
        "nothing": (TEXT, None),
        "yes": (BOOLEAN, True),
        "small": (SMALLINT, -3),
        "big": (BIGINT, 2**63 - 1),
        "real": (REAL, 1.5),
        "double": (DOUBLE, 0.1),
        "exact": (numeric(38, 9), Decimal("12345678901234567890123456789.123456789")),
        "bytes": (BYTEA, b"\x00\xff"),
        "day": (DATE, date(1969, 12, 31)),
        "local": (TIMESTAMP, datetime(2013, 1, 1, 5, 0, 0, 123456)),
        "moment": (TIMESTAMPTZ, datetime(2013, 1, 1, 5, tzinfo=UTC)),
    }
    desc = RelationDesc(tuple(Column(name, type) for name, (type, _) in values.items()))
    source = SourceSpec(
        GlobalId("u8"), "types", ObjectsConnector(BUCKET, "*.json"), JsonFormat(), desc
    )
    world = World(tmp_path, no_spark, (source,))
    spelled = {n: f"\\x{v.hex()}" if isinstance(v, bytes) else v for n, (_, v) in values.items()}
    world.write("a.json", json.dumps(spelled, default=str) + "\n")
    world.tick(10)
    assert world.visible(source) == [(*(value for _, value in values.values()), 10)]
    world.close()


def test_buckets_and_lake_may_be_on_an_s3_endpoint(tmp_path, s3_endpoint):
    client = s3_client(s3_endpoint)
    for bucket in (BUCKET, "lake"):
        client.create_bucket(Bucket=bucket)
    world = World(tmp_path, no_spark, s3=s3_endpoint)
    client.put_object(Bucket=BUCKET, Key="d/a.csv", Body=b"1,x\n2,")
    world.tick(10)
    client.put_object(Bucket=BUCKET, Key="d/a.csv", Body=b"1,x\n2,y\n")
    world.tick(20)
    assert world.visible() == [(1, "x", 10), (2, "y", 20)]
    client.put_object(Bucket=BUCKET, Key="d/a.csv", Body=b"1,z\n2,y\n3,x\n")
    with pytest.raises(UpstreamChanged):
        world.ingest(30)
    client.delete_object(Bucket=BUCKET, Key="d/a.csv")  # the bucket is everyone's
    world.close()

"""What messages make of an output whose rows replace each other is the same on every engine, and
what a dictionary would hold."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from fixtures.objects import no_spark

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import (
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    REAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    ScalarType,
    TypeName,
)
from reclock.algebra.timestamps import Timestamp
from reclock.collections.collection import Collection
from reclock.collections.folder import Folder
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.ingest.difference import DifferenceJob
from reclock.ingest.engines import Engines
from reclock.ingest.stage import StagedWriter, stamped
from reclock.ingest.upsert import ByLineage, ByOffset, Replacement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Row = dict[str, Any]
Difference = Callable[[Replacement, list[Row]], list[tuple[Any, ...]]]

VALUES: dict[str, tuple[ScalarType, list[Any]]] = {
    'a "quoted`.name': (TEXT, ["", "ä", "x" * 40]),
    "exact": (
        ScalarType(TypeName.NUMERIC),
        [Decimal("0.000000001"), Decimal(-(10**28)), Decimal(7)],
    ),
    "double": (DOUBLE, [math.nan, -math.inf, 0.1, 5e-324]),
    "real": (REAL, [math.nan, 0.5]),
    "at": (TIMESTAMP, [datetime(1, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999_999)]),
    "instant": (
        TIMESTAMPTZ,
        [datetime(1969, 12, 31, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)],
    ),
    "day": (DATE, [date(1, 1, 1), date(2024, 10, 27)]),
    "bytes": (BYTEA, [b"", b"\x00\xff"]),
    "flag": (BOOLEAN, [True, False]),
}
DESC = RelationDesc(
    (
        Column("k", TEXT, is_nullable=False),
        Column("n", INTEGER, is_nullable=False),
        *(Column(name, type) for name, (type, _) in VALUES.items()),
    ),
    key=("k", "n"),
)


@pytest.fixture
def output(tmp_path: Path) -> Collection:
    lake = Lake(str(tmp_path / "lake"))
    id = StorageCollectionId(GlobalId("u1"))
    lake.create(id, DESC)
    return lake.open(id)


@pytest.fixture(params=[1 << 30, 0], ids=["in this process", "on Spark"])
def difference(
    request: pytest.FixtureRequest, tmp_path: Path, output: Collection, spark: SparkSession
) -> Iterator[Difference]:
    """Take messages in: what they change is told, and then in the output."""
    small = DuckDbEngine([str(tmp_path)])
    engines = Engines(no_spark if request.param else lambda: spark, lambda: small, request.param, 0)

    def take(rule: Replacement, messages: list[Row]) -> list[tuple[Any, ...]]:
        upper = output.pin().upper
        at = Timestamp(upper + 1)
        desc, target = rule.message_desc(DESC), output.staging_uri(str(at))
        writer = StagedWriter(
            Folder(f"{target}/messages"),
            "part-00000.parquet",
            arrow_schema(desc, with_updates=True),
        )
        writer.write(
            stamped(pa.Table.from_pylist(messages, arrow_schema(desc, with_updates=False)), at)
        )
        writer.close()
        DifferenceJob(DESC, at, target, {}).upsert(engines, rule, output.pin())
        output.append_files(
            output.staged(str(at)), expected_upper=upper, new_upper=Timestamp(at + 1)
        )
        changes = output.pin().changes(at, Timestamp(at + 1)).select([*DESC.names, "mz_diff"])
        return [tuple(row.values()) for row in changes.to_pylist()]

    yield take
    small.close()


def rows(output: Collection) -> list[Row]:
    version = output.pin()
    found = version.snapshot(Timestamp(version.upper - 1)).to_pylist()
    assert all(row.pop("mz_diff") == 1 for row in found)
    return found


def as_stored(rows: Iterable[Row]) -> list[Row]:
    return pa.Table.from_pylist(list(rows), arrow_schema(DESC, with_updates=False)).to_pylist()


def test_the_last_message_of_a_key_counts(difference: Difference, output: Collection) -> None:
    chance, contents = random.Random(1), {}
    for _ in range(3):
        messages = []
        for offset in range(200):
            message = {"k": chance.choice(["", "a", "b", "Ä"]), "n": chance.randrange(12)}
            message |= {
                name: chance.choice([None, *values]) for name, (_, values) in VALUES.items()
            }
            is_deleted, partition = chance.random() < 0.3, chance.randrange(2)
            messages.append(
                message
                | {"mz_partition": partition, "mz_offset": offset, "mz_is_deleted": is_deleted}
            )
        before = dict(contents)
        for message in sorted(messages, key=lambda each: (each["mz_partition"], each["mz_offset"])):
            contents.pop((message["k"], message["n"]), None)
            if not message["mz_is_deleted"]:
                contents[message["k"], message["n"]] = {name: message[name] for name in DESC.names}
        chance.shuffle(messages)
        changes = difference(ByOffset(), messages)
        assert sorted(map(repr, rows(output))) == sorted(map(repr, as_stored(contents.values())))
        stays = {
            key
            for key in before.keys() & contents.keys()
            if repr(before[key]) == repr(contents[key])
        }
        # what stays is not written again
        assert len(changes) == len(before) + len(contents) - 2 * len(stays)


def change(
    offset: int, row: Row | None, was: tuple[str, int], *, born: int = 0, unsent: str | None = None
) -> Row:
    place = {
        "mz_offset": offset,
        "mz_is_deleted": row is None,
        "mz_born": born,
        "mz_unsent": unsent,
    }
    return (row or {}) | place | {"mz_was_0": was[0], "mz_was_1": was[1]}


def test_what_a_change_did_not_send_is_what_its_lineage_had_last(
    difference: Difference, output: Collection
) -> None:
    name, number = DESC.names[2], DESC.names.index("exact")
    a = {"k": "a", "n": 1, name: "large", "exact": Decimal(5)}
    b = {"k": "b", "n": 1, name: None, "exact": None}
    difference(ByLineage(), [change(1, a, ("a", 1), born=1), change(2, b, ("b", 1), born=2)])
    moved, unsent = {"k": "z", "n": 9, "flag": True}, f",2,,{number},"
    difference(
        ByLineage(),
        [
            change(3, moved, ("a", 1), unsent=unsent),  # its key changes, and it goes on
            change(4, moved | {name: "sent"}, ("a", 1), unsent=f",{number},"),
            change(5, moved | {"flag": False}, ("a", 1), unsent=unsent),
            change(6, {"k": "b", "n": 1, "flag": True}, ("b", 1), unsent=unsent),
            change(7, {"k": "a", "n": 1, name: "new"}, ("a", 1), born=7),
            change(8, None, ("a", 1), born=7),
        ],
    )
    found = sorted(
        (row["k"], row["n"], row[name], row["exact"], row["flag"]) for row in rows(output)
    )
    assert found == [("b", 1, None, None, True), ("z", 9, "sent", Decimal(5), False)]


def test_a_change_of_a_row_that_is_not_there_fails(difference: Difference) -> None:
    with pytest.raises(Exception, match="a change left a value as it was"):
        difference(ByLineage(), [change(1, {"k": "a", "n": 1}, ("a", 1), unsent=",2,")])

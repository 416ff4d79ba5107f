"""Compressed objects are as what is in them: probed, bound, read and checked by the bytes of their
contents."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from reclock.algebra.relations import BYTEA, INTEGER, TEXT, Column, RelationDesc
from reclock.connectors.connector import Increment
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.connector import Objects
from reclock.connectors.objects.line_contents import LineContents
from reclock.connectors.objects.object_store import LocalBuckets, ObjectMissing
from reclock.definitions.formats import BytesFormat, JsonFormat, LineFormat, TextFormat
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import DecodeFailed, UpstreamChanged
from reclock.reclocking.frontiers import Partition

NUMBERS = RelationDesc((Column("n", INTEGER),))


class Bucket:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "b"
        self.folder.mkdir()

    def objects(self, format: LineFormat, desc: RelationDesc, compression: str = "AUTO") -> Objects:
        store = Unzipped(LocalBuckets(str(self.folder.parent)), compression)
        contents = LineContents(store, "b", format, desc)
        return Objects(store, ObjectsConnector("b", "**", compression), contents)


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


def rows(objects: Objects, increments: list[Increment]) -> list[object]:
    return [
        value
        for task in objects.tasks(increments, ())
        for _, table in objects.read(task)
        for row in table.to_pylist()
        for value in row.values()
    ]


def facts_of(increments: list[Increment]) -> dict[Partition, tuple[Any, ...]]:
    return {found.partition: (found.upper, *found.evidence) for found in increments}


def test_objects_called_gz_are_read_as_their_contents_and_others_as_they_are(
    bucket: Bucket, monkeypatch
) -> None:
    monkeypatch.setattr("reclock.connectors.objects.compression.CHUNK_BYTES", 10)
    monkeypatch.setattr("reclock.connectors.objects.scan.SPLIT_BYTES", 25)
    text = "".join(f'{{"n": {n}}}\n' for n in range(20)).encode()
    (bucket.folder / "a.json.gz").write_bytes(gzip.compress(text))
    (bucket.folder / "b.json").write_bytes(text)
    objects = bucket.objects(JsonFormat(), NUMBERS)
    increments = objects.probe({})
    size = len(text)
    assert [
        (increment.partition, increment.upper, increment.covered) for increment in increments
    ] == [
        ("a.json.gz", size, size),
        ("b.json", size, size),
    ]
    assert increments[0].evidence[0] == increments[1].evidence[0]  # the checksum is of the contents
    assert len(objects.tasks(increments, ())) > 4
    assert rows(objects, increments) == [*range(20), *range(20)]
    assert objects.probe(facts_of(increments)) == []


def test_compressed_objects_grow_by_members_and_show_what_is_written_so_far(bucket: Bucket) -> None:
    path = bucket.folder / "log.gz"
    first, second = gzip.compress(b'{"n": 1}\n{"n": 2}\n'), gzip.compress(b'{"n": 3}\n')
    path.write_bytes(first)
    objects = bucket.objects(JsonFormat(), NUMBERS)
    bound = objects.probe({})
    path.write_bytes(first + second[:15])
    os.utime(path, (1, 1))
    assert objects.probe(facts_of(bound)) == []  # nothing whole yet
    path.write_bytes(first + second)
    grown = objects.probe(facts_of(bound))
    assert [(increment.lower, increment.upper) for increment in grown] == [(18, 27)]
    assert rows(objects, grown) == [3]
    path.write_bytes(gzip.compress(b'{"n": 9}\n{"n": 2}\n{"n": 3}\n'))
    with pytest.raises(UpstreamChanged, match="changed under its bound bytes"):
        objects.probe(facts_of(grown))


def test_what_is_no_gzip_is_a_definite_error(bucket: Bucket) -> None:
    (bucket.folder / "a.gz").write_bytes(b"plain text\n")
    with pytest.raises(DecodeFailed, match=r'record at byte 0 of "a\.gz"'):
        bucket.objects(JsonFormat(), NUMBERS).probe({})
    whole = bytearray(gzip.compress(os.urandom(3000)))
    whole[1500] ^= 255
    (bucket.folder / "a.gz").write_bytes(bytes(whole))
    with pytest.raises(DecodeFailed):
        bucket.objects(BytesFormat(), RelationDesc((Column("data", BYTEA),))).probe({})
    store = Unzipped(LocalBuckets(str(bucket.folder.parent)), "GZIP")
    (bucket.folder / "short").write_bytes(gzip.compress(b"12345"))
    assert b"".join(store.read("b", "short", 1, 4)) == b"234"
    with pytest.raises(ObjectMissing, match="short"):
        list(store.read("b", "short", 1, 6))
    with pytest.raises(ObjectMissing):
        list(store.read("b", "absent", 0, 1))


@pytest.mark.parametrize(
    ("format", "desc", "expected"),
    [
        (TextFormat(), RelationDesc((Column("text", TEXT),)), ['a, "b', "", "\u00e9\r"]),
        (BytesFormat(), RelationDesc((Column("data", BYTEA),)), [b'a, "b', b"", b"\xc3\xa9\r"]),
    ],
)
def test_text_and_bytes_are_lines(
    bucket: Bucket, format: LineFormat, desc: RelationDesc, expected: list[object]
) -> None:
    (bucket.folder / "lines").write_bytes('a, "b\n\n\u00e9\r\nunfinished'.encode())
    objects = bucket.objects(format, desc)
    assert rows(objects, objects.probe({})) == expected


def test_a_line_that_is_no_text_is_named_by_its_byte(bucket: Bucket) -> None:
    (bucket.folder / "lines").write_bytes(b"fine\n\xff\nfine\n")
    objects = bucket.objects(TextFormat(), RelationDesc((Column("text", TEXT),)))
    with pytest.raises(DecodeFailed) as failed:
        rows(objects, objects.probe({}))
    assert (failed.value.partition, failed.value.offset) == ("lines", 5)

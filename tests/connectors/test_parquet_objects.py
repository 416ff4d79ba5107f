"""Objects that are Parquet files: every row once, whoever wrote them; only the declared columns are
read; and what is no such file, or has become another one, is named."""

from datetime import datetime

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.objects import DESC
from fixtures.parquet import FILES, parquet

from reclock.algebra.relations import BIGINT, TEXT, TIMESTAMP, Column, RelationDesc
from reclock.connectors.objects import parquet_contents, scan
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.connector import Objects
from reclock.connectors.objects.parquet_contents import ParquetContents
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import (
    DecodeFailed,
    ObjectsUnreadable,
    ParquetUnreadable,
    SchemaMismatch,
    UnpublishedGone,
    UpstreamChanged,
)

ROWS = [(n, None if n % 7 == 0 else f"word {n}") for n in range(1000)]


def objects(buckets, desc=DESC):
    store = Unzipped(buckets.store, "NONE")
    assert isinstance(FILES.connector, ObjectsConnector)
    return Objects(store, FILES.connector, ParquetContents(store, "landing", desc))


def bound(increments):
    return {found.partition: (found.upper, *found.evidence) for found in increments}


def read(reader, increments, skips=()):
    return [
        tuple(row.values())
        for task in reader.tasks(increments, skips)
        for _, rows in reader.read(task)
        for row in rows.to_pylist()
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "snappy"},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "zstd", "row_group_size": 17},
        {"compression": "lz4", "use_dictionary": False},
        {"compression": "brotli", "data_page_size": 64, "write_page_index": True},
        {"compression": "none", "write_page_checksum": True, "row_group_size": 999},
        {"use_dictionary": False, "column_encoding": {"number": "DELTA_BINARY_PACKED",
         "word": "DELTA_BYTE_ARRAY", "ignored.list.element": "PLAIN"}},
        {"version": "1.0", "store_schema": False, "use_compliant_nested_type": False},
    ],
)  # fmt: skip
def test_every_row_is_read_once_however_the_file_is_written(buckets, monkeypatch, options):
    monkeypatch.setattr(scan, "SPLIT_BYTES", 500)
    buckets.put("a.parquet", parquet(ROWS, **options))
    reader = objects(buckets)
    [increment] = reader.probe({})
    assert (increment.lower, increment.upper, increment.covered) == (0, 1000, 1000)
    assert read(reader, [increment]) == ROWS
    assert reader.probe(bound([increment])) == []


@pytest.mark.parametrize("options", ["", ", ROW_GROUP_SIZE 2048", ", PARQUET_VERSION V2"])
def test_files_of_duckdb_are_read(buckets, tmp_path, options):
    path = tmp_path / "written.parquet"
    duckdb.sql(
        f"""COPY (SELECT i AS number, CASE WHEN i % 3 > 0 THEN 'w' || i END AS word,
        TIMESTAMP '2024-01-01' + INTERVAL (i) MINUTE AS made FROM range(5000) AS r(i))
        TO '{path}' (FORMAT parquet, COMPRESSION zstd{options})"""
    )
    buckets.put("a.parquet", path.read_bytes())
    columns = (Column("number", BIGINT), Column("word", TEXT), Column("made", TIMESTAMP))
    reader = objects(buckets, RelationDesc(columns))
    expected = duckdb.sql(f"SELECT number, word, made FROM '{path}'").fetchall()
    assert read(reader, reader.probe({})) == expected


def test_timestamps_of_96_bits_are_read_far_from_today(buckets):
    moments = [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(9999, 1, 1)]
    table = pa.table({"made": pa.array(moments, pa.timestamp("us"))})
    out = pa.BufferOutputStream()
    pq.write_table(table, out, use_deprecated_int96_timestamps=True)
    buckets.put("a.parquet", out.getvalue().to_pybytes())
    reader = objects(buckets, RelationDesc((Column("made", TIMESTAMP),)))
    assert read(reader, reader.probe({})) == [(moment,) for moment in moments]


def test_files_without_rows_are_bound_once_with_nothing(buckets):
    buckets.put("a.parquet", parquet([]))
    reader = objects(buckets)
    increments = reader.probe({})
    assert [(found.lower, found.upper) for found in increments] == [(0, 0)]
    assert read(reader, increments) == []
    assert reader.probe(bound(increments)) == []
    buckets.put("a.parquet", parquet(ROWS))
    [increment] = reader.probe(bound(increments))
    assert read(reader, [increment]) == ROWS


def test_only_the_footer_and_the_declared_columns_are_read(buckets, monkeypatch):
    content = parquet(ROWS * 50, compression="none", use_dictionary=False)
    buckets.put("a.parquet", content)
    group = pq.read_metadata(pa.BufferReader(content)).row_group(0)
    ignored = group.column(1)
    begin = ignored.data_page_offset
    end = begin + ignored.total_compressed_size
    read_ranges = []
    read_store = type(buckets.store).read

    def note(store, bucket, key, lower, upper):
        read_ranges.append((lower, upper))
        return read_store(store, bucket, key, lower, upper)

    monkeypatch.setattr(type(buckets.store), "read", note)
    reader = objects(buckets)
    assert len(read(reader, reader.probe({}))) == len(ROWS) * 50
    inside = [
        max(0, min(upper, end - 200) - max(lower, begin + 200)) for lower, upper in read_ranges
    ]
    assert sum(inside) == 0
    assert ignored.total_compressed_size > 1_000_000


def test_what_writers_leave_beside_their_files_is_no_object_of_the_source(buckets):
    for key in ("_SUCCESS", "t/_temporary/0/p.parquet", ".a.parquet.crc", "t/_delta_log/0.json",
                "t/.hidden/p.parquet"):  # fmt: skip
        buckets.put(key, b"x")
    buckets.put("t/_day=1/p.parquet", parquet(ROWS[:1]))
    assert [found.name for found in objects(buckets).probe({})] == ["t/_day=1/p.parquet"]


GOOD = parquet(ROWS)


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"", "it has 0 bytes"),
        (b"number,word\n1,x\n", "ends with the bytes"),
        (GOOD[:-100], "cut off"),
        (GOOD[:-4] + b"PARE", "encrypted"),
        (GOOD[:-8] + b"\xff\xff\xff\x7fPAR1", "footer is said to have"),
        (GOOD[:-200] + bytes(192) + GOOD[-8:], "its footer"),
    ],
)
def test_what_is_no_parquet_file_is_named(buckets, content, detail):
    buckets.put("a.parquet", content)
    buckets.put("b.parquet", GOOD)
    with pytest.raises(ParquetUnreadable, match=r'"a\.parquet" cannot be read') as failure:
        objects(buckets).probe({})
    assert detail in failure.value.detail
    assert "SKIP 'a.parquet'" in failure.value.hint
    skipped = objects(buckets).probe({}, [("a.parquet", 0, 2**63 - 1)])
    assert [(found.name, found.upper) for found in skipped] == [
        ("a.parquet", 0),
        ("b.parquet", 1000),
    ]


def test_a_file_with_other_columns_is_named(buckets):
    buckets.put("a.parquet", parquet([]))
    buckets.put("b.parquet", parquet([(1, "x")]))
    columns = (Column("number", TEXT), Column("Word", TEXT))
    with pytest.raises(ObjectsUnreadable) as failure:
        objects(buckets, RelationDesc(columns)).probe({})
    first, second = failure.value.failures
    assert isinstance(first, SchemaMismatch)
    assert first.message.startswith('schema of "a.parquet"')
    assert 'column "number" of type text: found int32' in first.detail
    assert 'column "Word" is missing' in first.detail
    assert (second.partition, second.detail) == ("b.parquet", first.detail)


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_a_row_that_does_not_fit_is_named_and_can_be_skipped_alone(
    buckets, monkeypatch, batch_rows
):
    monkeypatch.setattr(parquet_contents, "_BATCH_ROWS", batch_rows)
    rows: list[tuple[int | None, str]] = [(n, "x") for n in range(10)]
    rows[4] = (None, "y")
    buckets.put("a.parquet", parquet(rows, row_group_size=3))
    reader = objects(buckets)
    increments = reader.probe({})
    with pytest.raises(DecodeFailed, match=r'record at row 4 of "a\.parquet"') as failure:
        read(reader, increments)
    assert "NOT NULL" in failure.value.detail
    assert "SKIP 'a.parquet' FROM 4 TO 5" in failure.value.hint
    assert read(reader, increments, [("a.parquet", 4, 5)]) == [*rows[:4], *rows[5:]]
    assert read(reader, increments, [("a.parquet", 3, 8)]) == [*rows[:3], *rows[8:]]


def test_a_damaged_row_group_is_named_and_can_be_skipped_alone(buckets):
    content = bytearray(parquet(ROWS, row_group_size=500, write_page_checksum=True))
    chunk = pq.read_metadata(pa.BufferReader(bytes(content))).row_group(1).column(0)
    content[chunk.data_page_offset + 200] ^= 0xFF
    buckets.put("a.parquet", bytes(content))
    reader = objects(buckets)
    increments = reader.probe({})
    with pytest.raises(DecodeFailed, match="with the rows 500 to 1000 is damaged") as failure:
        read(reader, increments)
    assert "SKIP 'a.parquet' FROM 500 TO 1000" in failure.value.hint
    assert read(reader, increments, [("a.parquet", 500, 1000)]) == ROWS[:500]


def test_an_object_that_is_written_again_keeps_its_rows(buckets):
    buckets.put("a.parquet", GOOD)
    reader = objects(buckets)
    increments = reader.probe({})
    length, crc, _ = bound(increments)["a.parquet"]
    [same] = reader.probe({"a.parquet": (length, crc, "an older version")})
    assert (same.lower, same.upper, same.covered, read(reader, [same])) == (1000, 1000, 0, [])
    assert bound([same]) == bound(increments)


@pytest.mark.parametrize(
    ("now", "detail"),
    [
        (parquet([*ROWS, (1, "z")]), "it has 1001 rows, it had 1000"),
        (parquet([*ROWS[:-1], (1, "z")]), "their crc32 is"),
    ],
)
def test_an_object_that_has_become_another_one_is_named(buckets, now, detail):
    buckets.put("a.parquet", GOOD)
    reader = objects(buckets)
    increments = reader.probe({})
    buckets.delete("a.parquet")
    buckets.put("a.parquet", now)
    with pytest.raises(UpstreamChanged, match="changed under its 1000 bound rows") as failure:
        reader.probe(bound(increments))
    assert detail in failure.value.detail
    assert "RESTART 'a.parquet'" in failure.value.hint
    with pytest.raises(UpstreamChanged, match="changed under its rows from 0 to 1000"):
        read(reader, increments)
    buckets.put("a.parquet", b"x" * 100)
    with pytest.raises(UpstreamChanged, match="changed under its rows from 0 to 1000"):
        read(reader, increments)
    buckets.delete("a.parquet")
    with pytest.raises(UnpublishedGone, match="no longer has the rows from 0 to 1000"):
        read(reader, increments)
    [replaced] = reader.probe(bound(increments))
    assert (replaced.lower, replaced.upper) == (1000, 1000)

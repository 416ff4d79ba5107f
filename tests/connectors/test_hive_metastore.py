"""What a Hive metastore is told about a table."""

from __future__ import annotations

import pyarrow as pa

from reclock.connectors.hive_metastore import columns


def test_columns_have_hives_types() -> None:
    schema = pa.schema(
        {
            "Id": pa.int64(),
            "n": pa.decimal128(10, 2),
            "at": pa.timestamp("us", "UTC"),
            "a": pa.list_(pa.list_(pa.int32())),
            "p": pa.list_(pa.decimal128(38, 9)),
        }
    )
    assert columns(schema) == (
        ("id", "bigint"),
        ("n", "decimal(10,2)"),
        ("at", "timestamp"),
        ("a", "array<array<int>>"),
        ("p", "array<decimal(38,9)>"),
    )

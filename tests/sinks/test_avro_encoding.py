"""What is encoded a column at a time, a library for Avro reads back, value by value."""

from __future__ import annotations

import random
from decimal import Context, Decimal
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from reclock.errors import InternalError
from reclock.sinks.avro_encoding import encoded
from reclock.sinks.avro_messages import AvroForm

TYPES: dict[str, tuple[Any, pa.DataType]] = {
    "i": ("int", pa.int32()),
    "l": ("long", pa.int64()),
    "b": ("boolean", pa.bool_()),
    "f": ("float", pa.float32()),
    "d": ("double", pa.float64()),
    "s": ("string", pa.string()),
    "y": ("bytes", pa.binary()),
    "n": (
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 4},
        pa.decimal128(38, 4),
    ),
}
FIELDS = [{"name": name, "type": type} for name, (type, _) in TYPES.items()]
FIELDS += [{"name": f"{name}_or_null", "type": ["null", type]} for name, (type, _) in TYPES.items()]
SCHEMA = {
    "type": "record",
    "name": "shop.envelope",
    "fields": [
        {"name": "before", "type": ["null", {"type": "record", "name": "row", "fields": FIELDS}]},
        {"name": "after", "type": ["null", "row"]},
    ],
}
ROW = pa.struct(
    [
        *((name, type) for name, (_, type) in TYPES.items()),
        *((f"{n}_or_null", t) for n, (_, t) in TYPES.items()),
    ]
)
EDGES = [
    0,
    1,
    -1,
    63,
    64,
    -64,
    -65,
    127,
    128,
    -128,
    -129,
    255,
    256,
    32767,
    32768,
    -32768,
    -32769,
    2**31 - 1,
    -(2**31),
]
LONGS = [*EDGES, 2**62, -(2**62), 2**63 - 1, -(2**63)]
UNSCALED = [*LONGS, 10**38 - 1, 1 - 10**38, 2**120, -(2**119)]
CHANCE = random.Random(20261122)


def row() -> dict[str, Any]:
    def values() -> dict[str, Any]:
        return {
            "i": CHANCE.choice(EDGES),
            "l": CHANCE.choice([*LONGS, CHANCE.randrange(-(2**40), 2**40)]),
            "b": CHANCE.random() < 0.5,
            "f": CHANCE.choice([0.0, -0.5, 2.0**100, float("inf")]),
            "d": CHANCE.choice([0.1, -1e300, float("-inf")]),
            "s": CHANCE.choice(["", "é💡" * CHANCE.randrange(100)]),
            "y": CHANCE.randbytes(CHANCE.randrange(5)),
            "n": Decimal(CHANCE.choice(UNSCALED)).scaleb(-4, Context(prec=60)),
        }

    return values() | {
        f"{name}_or_null": CHANCE.choice([value, None]) for name, value in values().items()
    }


def test_every_value_reads_back() -> None:
    rows = [
        {"before": CHANCE.choice([None, row()]), "after": CHANCE.choice([None, row()])}
        for _ in range(1000)
    ]
    whole = pa.array(rows, pa.struct([("before", ROW), ("after", ROW)]))
    parsed = fastavro.parse_schema(SCHEMA)
    for values, expected in (
        (whole, rows),
        (whole.slice(17, 40), rows[17:57]),
        (whole.slice(3, 0), []),
    ):
        found = encoded(values, SCHEMA).to_pylist()
        assert [fastavro.schemaless_reader(BytesIO(record), parsed) for record in found] == expected
        for record, value in zip(found, expected, strict=True):
            stream = BytesIO()
            fastavro.schemaless_writer(stream, parsed, value)
            # which says some decimals longer than they must be
            assert len(record) <= len(stream.getvalue())


def test_what_is_nothing_is_no_message_and_a_null_is_no_value() -> None:
    schema = {"type": "record", "name": "row", "fields": [{"name": "a", "type": "int"}]}
    form = AvroForm("t-value", schema, {})
    assert form.messages(pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())]))) == [
        b"\x00\x00\x00\x00\x00\x02",
        None,
    ]
    with pytest.raises(InternalError, match="does not fit"):
        form.messages(pa.array([{"a": None}], pa.struct([("a", pa.int32())])))
    assert AvroForm("t-key", schema | {"fields": []}, {}).messages(pa.array([{"nothing": 0}])) == [
        bytes(5)
    ]

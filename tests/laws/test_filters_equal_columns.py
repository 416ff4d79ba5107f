"""The law of filters: WHERE p shows the rows for which the column p is true, for values of every
type, in memory and in files."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fixtures.lakes import updates_table
from fixtures.plans import call, desc_of, get, row_text, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
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
    RelationDesc,
    ScalarType,
    numeric,
)
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections.lake import Lake
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import CollectionInput
from reclock.plan.relational import Filter, Finishing, Map, Project
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar

VALUES: dict[ScalarType, tuple[Any, ...]] = {
    BOOLEAN: (False, True),
    SMALLINT: (-32767, 0, 7),
    INTEGER: (-7, 0, 7),
    BIGINT: (-(2**53) - 1, 2**53, 2**53 + 1),
    REAL: (float("-inf"), -1.5, 0.0, 1.5, float("inf"), float("nan")),
    DOUBLE: (float("-inf"), -1.5, 0.0, 1.5, float("inf"), float("nan")),
    numeric(38, 9): (Decimal("-9e28"), Decimal("0.000000001"), Decimal("9e28")),
    TEXT: ("", "a", "é", "a" * 40 + "b", "a" * 40 + "c", "\U0001f469"),
    BYTEA: (b"", b"\x00", b"\xff"),
    DATE: (dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)),
    TIMESTAMP: (
        dt.datetime(1, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        dt.datetime(2020, 1, 1),
    ),
    TIMESTAMPTZ: tuple(
        dt.datetime(year, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC) for year in (1582, 1970, 2020)
    ),
}
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
TABLE = StorageCollectionId(GlobalId("u1"))


@st.composite
def predicates(draw: st.DrawFn, type: ScalarType) -> Scalar:
    """Comparisons of the column with a value or NULL, either way round, and what negates and joins
    them."""
    column = ColumnRef(0, type)

    def compared() -> Call:
        operands = [column, Literal(draw(st.sampled_from([*VALUES[type], None])), type)]
        return call(
            draw(st.sampled_from(COMPARISONS)),
            *(operands if draw(st.booleans()) else reversed(operands)),
        )

    shape = draw(st.integers(0, 4))
    if shape == 0:
        return call("is_null", column)
    if shape == 1:
        return call("not", compared())
    if shape == 2:
        return call(draw(st.sampled_from(["and", "or"])), compared(), compared())
    return compared()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("filters")


@pytest.mark.parametrize("type", VALUES, ids=str)
def test_where_shows_the_rows_for_which_the_column_is_true(type: ScalarType, root: Path) -> None:
    desc = desc_of(type)
    engine = DuckDbEngine([str(root)], threads=1)
    flagged = RelationDesc((*desc.columns, *desc_of(BOOLEAN).columns))
    value = st.sampled_from([*VALUES[type], None])

    @settings(max_examples=8)
    @given(st.lists(st.lists(value, min_size=1, max_size=3), min_size=1, max_size=3), st.data())
    def law(files: list[list[Any]], data: st.DataObject) -> None:
        listed = [
            Update((own,), Timestamp(at), 1) for at, values in enumerate(files) for own in values
        ]
        with TemporaryDirectory(dir=root) as folder:
            stored, empty = (
                Lake(f"{folder}/{name}").create(TABLE, desc) for name in ("stored", "empty")
            )
            for at in range(len(files)):
                part = updates_table([update for update in listed if update.time == at], desc)
                stored.append(part, expected_upper=stored.upper(), new_upper=Timestamp(at + 1))
            now = Timestamp(len(files))
            places = (
                CollectionInput(stored.pin()),
                CollectionInput(empty.pin(), updates_table(listed, desc)),
            )
            for _ in range(4):
                predicate = data.draw(predicates(type))
                mapped = Map(get(TABLE, desc), (predicate,), flagged)
                for place in places:
                    answer = engine.run(
                        Filter(get(TABLE, desc), (predicate,)), Finishing(), {TABLE: place}, now
                    )
                    shown_rows = rows(engine.run(mapped, Finishing(), {TABLE: place}, now))
                    expected = Counter(row_text(row[:1]) for row in shown_rows if row[1])
                    assert Counter(map(row_text, rows(answer))) == expected
                    both = Project(Filter(mapped, (ColumnRef(1, BOOLEAN),)), (0,), desc)
                    assert (
                        Counter(
                            map(row_text, rows(engine.run(both, Finishing(), {TABLE: place}, now)))
                        )
                        == expected
                    )

    law()

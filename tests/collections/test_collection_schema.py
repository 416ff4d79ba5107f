"""What can be a collection: names that can be told apart, types that can be stored, and a desc that
is kept."""

import pyarrow as pa
import pytest
from fixtures.lakes import DESC, FLIGHTS

from reclock.algebra import relations as types
from reclock.algebra.relations import Column, RelationDesc
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema, arrow_type, decode_desc, encode_desc
from reclock.errors import CollectionExists, InvalidSchema


def desc(*names: str) -> RelationDesc:
    return RelationDesc(tuple(Column(name, types.TEXT) for name in names))


@pytest.mark.parametrize(
    "names", [("mz_timestamp",), ("mz_diff",), ("MZ_Diff",), ("a", "a"), ("a", "A"), ("",)]
)
def test_reserved_and_repeated_names_leave_no_trace(lake: Lake, names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidSchema):
        lake.create(FLIGHTS, desc(*names))
    assert lake.list() == []


def test_types_that_are_never_stored_and_keys_of_nothing_are_refused(lake: Lake) -> None:
    with pytest.raises(InvalidSchema, match="values of type regclass cannot be stored"):
        lake.create(FLIGHTS, RelationDesc((Column("i", types.REGCLASS),)))
    with pytest.raises(InvalidSchema, match='key column "b" does not exist'):
        lake.create(FLIGHTS, RelationDesc((Column("a", types.TEXT),), key=("b",)))


def test_moments_are_kept_in_microseconds_and_numbers_exactly() -> None:
    assert arrow_type(types.TIMESTAMP) == pa.timestamp("us")
    assert arrow_type(types.TIMESTAMPTZ) == pa.timestamp("us", "UTC")
    assert arrow_type(types.numeric(12, 3)) == pa.decimal128(12, 3)
    schema = arrow_schema(
        RelationDesc((Column("a", types.SMALLINT, is_nullable=False),)), with_updates=True
    )
    assert schema == pa.schema(
        [
            pa.field("a", pa.int16(), nullable=False),
            pa.field("mz_timestamp", pa.int64(), nullable=False),
            pa.field("mz_diff", pa.int64(), nullable=False),
        ]
    )


def test_a_desc_comes_back_as_it_was_given(lake: Lake) -> None:
    desc = RelationDesc(
        (
            Column('odd ",;{}()\n=.` name', types.numeric(12, 3), is_nullable=False),
            Column("größe", types.REAL),
        ),
        key=("größe",),
    )
    assert decode_desc(encode_desc(desc)) == desc
    lake.create(FLIGHTS, desc, is_monotonic=True)
    opened = Lake(lake.root).open(FLIGHTS)
    assert (opened.desc, opened.is_monotonic) == (desc, True)


def test_creating_again_is_the_same_collection_or_an_error(lake: Lake) -> None:
    first = lake.create(FLIGHTS, DESC)
    assert lake.create(FLIGHTS, DESC) is first
    for other in (lake, Lake(lake.root)):
        with pytest.raises(CollectionExists):
            other.create(FLIGHTS, desc("other"))
        with pytest.raises(CollectionExists):
            other.create(FLIGHTS, DESC, is_monotonic=True)

"""What is staged of a change that names its row by key alone, until it meets the output that has the row.

A *lineage* is a row as it is followed through the changes of a step: the one that the output has under the key ``mz_was_…``, if
``mz_born`` is 0, else one that came under that key as change number ``mz_born``. A row whose key changes goes on in its lineage. So
whatever its changes did not send is what its lineage had last, in the step or in the output.
"""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import BIGINT, BOOLEAN, BYTEA, TEXT, Column, RelationDesc, TypeName
from reclock.connectors.connector import DELETED_COLUMN, OFFSET_COLUMN

BORN_COLUMN, UNSENT_COLUMN = "mz_born", "mz_unsent"

_LARGE = (TEXT.name, BYTEA.name, TypeName.NUMERIC)


def lineage_desc(desc: RelationDesc) -> RelationDesc:
    """The changes of an output that has a key: the row if there is one afterwards, its number and its lineage."""
    columns = (Column(column.name, column.type) for column in desc.columns)
    told = (
        Column(OFFSET_COLUMN, BIGINT),
        Column(DELETED_COLUMN, BOOLEAN),
        Column(BORN_COLUMN, BIGINT),
        Column(UNSENT_COLUMN, TEXT),
    )
    return RelationDesc((*columns, *was(desc), *told))


def was(desc: RelationDesc) -> tuple[Column, ...]:
    """The columns of the key under which a lineage began, in the key's order."""
    types = dict(zip(desc.names, desc.types, strict=True))
    return tuple(Column(f"mz_was_{i}", types[name]) for i, name in enumerate(desc.key or ()))


def large(desc: RelationDesc) -> list[int]:
    """The positions of columns whose values may be so large that an update does not send them again."""
    return [i for i, column in enumerate(desc.columns) if column.type.name in _LARGE and column.name not in (desc.key or ())]


def spelled_unsent(positions: Sequence[int]) -> str | None:
    """The columns that a change did not send, so that ``LIKE`` finds each."""
    return "".join(f",{i}," for i in positions) or None

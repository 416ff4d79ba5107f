"""The staged form of changes that identify their row by key alone, before a join with the output.

A *lineage* follows one row through the changes of a step: the output's row with the key
``mz_was_…`` if ``mz_born`` is 0, else the row that change number ``mz_born`` inserted with that
key. A row stays in its lineage when its key changes. So the values that a change did not send are
the last ones of its lineage, in the step or in the output.
"""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    JSONB,
    TEXT,
    Column,
    RelationDesc,
    TypeName,
)
from reclock.connectors.connector import DELETED_COLUMN, OFFSET_COLUMN

BORN_COLUMN, UNSENT_COLUMN = "mz_born", "mz_unsent"

_LARGE = (TEXT.name, BYTEA.name, JSONB.name, TypeName.NUMERIC, TypeName.ARRAY)


def lineage_desc(desc: RelationDesc) -> RelationDesc:
    """The changes of an output with a key: the row after the change, if there is one, the change's
    number, and its lineage."""
    columns = (Column(column.name, column.type) for column in desc.columns)
    tracking = (
        Column(OFFSET_COLUMN, BIGINT),
        Column(DELETED_COLUMN, BOOLEAN),
        Column(BORN_COLUMN, BIGINT),
        Column(UNSENT_COLUMN, TEXT),
    )
    return RelationDesc((*columns, *was(desc), *tracking))


def was(desc: RelationDesc) -> tuple[Column, ...]:
    """The columns of the key under which a lineage began, in the key's order."""
    types = dict(zip(desc.names, desc.types, strict=True))
    return tuple(Column(f"mz_was_{i}", types[name]) for i, name in enumerate(desc.key or ()))


def large(desc: RelationDesc) -> list[int]:
    """The positions of columns whose values may be so large that updates omit unchanged ones."""
    return [
        i
        for i, column in enumerate(desc.columns)
        if column.type.name in _LARGE and column.name not in (desc.key or ())
    ]


def spelled_unsent(positions: Sequence[int]) -> str | None:
    """The columns that a change did not send, in a form in which ``LIKE`` finds each; None if it
    sent all."""
    return "".join(f",{i}," for i in positions) or None

"""Rows of a table that are looked up by a few values of a column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import RelationDesc, TypeName
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.entries import RelationEntry

_FEW = 100
"""So many keys are looked up one by one."""

_LOOKED_UP = (
    *(TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT),
    *(TypeName.TEXT, TypeName.BPCHAR),
)


def lookup_values(
    arbiter: Constraint, table: RelationEntry, rows: pa.Table
) -> tuple[int, list[Any]] | None:
    """The position and the values of a column of the key by which few rows of the table are found;
    None if it is scanned."""
    if arbiter.kind is ConstraintKind.UNIQUE_INDEX:
        return None
    for name in arbiter.columns:
        position = table.desc.names.index(name)
        if arbiter.are_nulls_equal and rows.column(name).null_count:
            continue
        values = few_values(table.desc, position, rows.column(name))
        if values is not None:
            return position, values
    return None


def few_values(desc: RelationDesc, position: int, values: pa.ChunkedArray) -> list[Any] | None:
    """The different values that are not NULL, if a column of the table can be looked up by these."""
    if desc.types[position].name not in _LOOKED_UP or desc.columns[position].limit:
        return None
    different = pc.unique(values).drop_null().to_pylist()
    return different if 0 < len(different) <= _FEW else None

"""Columns that Arrow computes as SQL does, so that few rows need no engine: constants, columns, and
whole-number arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from reclock.compute.engines.engine import result_type
from reclock.errors import InternalError
from reclock.plan.scalar_trees import walk
from reclock.plan.scalars import Call, Cast, ColumnRef, Literal, Scalar

_ARITHMETIC: dict[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}


def is_computable(scalar: Scalar) -> bool:
    """Whether ``compute_column`` knows the scalar's values, if it does not fail."""
    return all(map(_is_computable_part, walk(scalar)))


def compute_column(scalar: Scalar, rows: pa.Table) -> pa.Array | pa.ChunkedArray:
    """The values of a computable scalar, in the type that an engine answers. Raises
    ``pa.ArrowInvalid`` where SQL has an error, and may raise it elsewhere."""
    match scalar:
        case ColumnRef(index):
            return rows.column(index)
        case Literal(value, type):
            return pa.array([value] * rows.num_rows, result_type(type))
        case Cast(operand, type):
            return pc.cast(compute_column(operand, rows), result_type(type))
        case Call(function, (left, right)):
            return _ARITHMETIC[function](compute_column(left, rows), compute_column(right, rows))
    raise InternalError(f"no computable scalar: {scalar!r}")


def _is_computable_part(part: Scalar) -> bool:
    match part:
        case ColumnRef():
            return True
        case Literal(value, type):
            return value is None or not pa.types.is_nested(result_type(type))
        case Cast(operand, type):
            return type.is_integer and operand.type.is_integer
        case Call(function, (left, right), type):
            return function in _ARITHMETIC and type.is_integer and left.type == right.type == type
    return False

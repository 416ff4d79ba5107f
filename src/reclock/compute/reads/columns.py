"""Columns and aggregates that Arrow computes as SQL does, so that few rows need no engine.

Columns are constants, columns of the rows, and whole-number arithmetic. Aggregates are counts, sums
of whole numbers, and extremes."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import TypeName
from reclock.compute.engines.engine import result_type
from reclock.errors import InternalError
from reclock.plan.scalar_trees import walk
from reclock.plan.scalars import Aggregate, Call, Cast, ColumnRef, Literal, Scalar

_ARITHMETIC: dict[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
_EXTREMES: dict[str, Callable[[pa.Array], pa.Scalar]] = {"min": pc.min, "max": pc.max}


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


def is_computable_aggregate(aggregate: Aggregate[Scalar]) -> bool:
    """Whether ``compute_aggregate`` knows the aggregate's value, if it does not fail."""
    if aggregate.is_distinct or aggregate.filter is not None:
        return False
    if not all(map(is_computable, aggregate.arguments)):
        return False
    match aggregate.function, [argument.type for argument in aggregate.arguments]:
        case "count", _:
            return True
        case "sum", [type]:
            return type.is_integer
        case (("min" | "max"), [type]):
            return type.is_integer or type.name in (TypeName.TEXT, TypeName.BPCHAR)
    return False


def compute_aggregate(aggregate: Aggregate[Scalar], rows: pa.Table) -> pa.Array:
    """The value of a computable aggregate over all of the rows, as an array of one, in the type
    that an engine answers. Raises ``pa.ArrowInvalid`` as ``compute_column`` does."""
    type = result_type(aggregate.type)
    values = [compute_column(argument, rows) for argument in aggregate.arguments]
    match aggregate.function, values:
        case "count", []:
            value = pa.scalar(rows.num_rows, type)
        case "count", [column]:
            value = pc.count(column)
        case "sum", [column]:
            value = pc.sum(column.cast(type))  # in the type of the sum, which holds it
        case extreme, [column]:
            value = _EXTREMES[extreme](column)
    return pa.array([value.as_py()], type)


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

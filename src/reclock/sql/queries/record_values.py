"""Records as values: ``ROW(a, b)``, whole rows of relations, and the fields of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from reclock.algebra.relations import (
    INTEGER,
    JSONB,
    TEXT,
    RecordField,
    ScalarType,
    TypeName,
    record,
)
from reclock.errors import UnknownColumn, UnsupportedSql
from reclock.plan.functions.records import FIELD_OF, RECORD_OF
from reclock.plan.scalars import Call, Case, Literal
from reclock.sql.names import nearest
from reclock.sql.queries.overloads import balanced, call, is_null, negated
from reclock.sql.queries.planned import Planned, TypedExpr, Untyped
from reclock.sql.queries.scope import Scope


def is_record(value: Planned) -> TypeGuard[TypedExpr]:
    return not isinstance(value, Untyped) and value.type.name is TypeName.RECORD


def record_of(values: Sequence[TypedExpr], names: Sequence[str] = ()) -> TypedExpr:
    """The record of ``values``, whose fields are ``f1``, ``f2``, … unless they have ``names``.
    Raises ``UnsupportedSql`` if there are none."""
    if not values:
        raise UnsupportedSql("records without fields are not supported")
    names = names or [f"f{place}" for place in range(1, len(values) + 1)]
    fields = [RecordField(name, value.type) for name, value in zip(names, values, strict=True)]
    return Call(RECORD_OF, tuple(values), record(fields))


def whole_row(scope: Scope, qualifier: Sequence[str]) -> TypedExpr | None:
    """The row of a relation of FROM, or of a query around; None if there is no such relation.

    Where an outer join has no row of the relation, it is NULL. So is a row there that has NULLs
    alone.
    """
    columns = scope.row_of(qualifier)
    if not columns:
        return None
    values = [value for _, value in columns]
    row = record_of(values, [column.field_name for column, _ in columns])
    if not any(column.may_be_missing for column, _ in columns):
        return row
    is_missing = balanced("and", [is_null(value) for value in values])
    return Case(((is_missing, Literal(None, row.type)),), row, row.type)


def fields(value: TypedExpr) -> list[tuple[str, TypedExpr]]:
    """The names and values of a record's fields."""
    return [
        (field.name, _field(value, place)) for place, field in enumerate(value.type.fields, start=1)
    ]


def field(value: TypedExpr, name: str) -> TypedExpr:
    """The field of a record. Raises ``UnknownColumn``."""
    for place, field_type in enumerate(value.type.fields, start=1):
        if field_type.name == name:
            return _field(value, place)
    names = sorted({field_type.name for field_type in value.type.fields})
    raise UnknownColumn(name, hint=nearest(name, names) or "it is no field of the record")


def _field(value: TypedExpr, place: int) -> TypedExpr:
    type = value.type.fields[place - 1].type
    match value:
        case Call(function, arguments) if function == RECORD_OF:
            return arguments[place - 1]
        case Literal(constant):
            return Literal(None if constant is None else constant[place - 1], type)
        case Case():
            return _of_branches(value, type, lambda branch: _field(branch, place))
        case _:
            return Call(FIELD_OF, (value, Literal(place, INTEGER)), type)


def _of_branches(
    value: Case[TypedExpr], type: ScalarType, of: Callable[[TypedExpr], TypedExpr]
) -> TypedExpr:
    """``of`` each result of a CASE."""
    branches = tuple((condition, of(result)) for condition, result in value.branches)
    return Case(branches, of(value.otherwise), type)


def document(value: Planned) -> Planned:
    """A record as the JSON object of its fields; any other value itself.

    The object is made here, because Spark calls no Python on the fields of a struct that it
    computes.
    """
    return _object(value) if is_record(value) else value


def _object(value: TypedExpr) -> TypedExpr:
    if isinstance(value, Case):
        return _of_branches(value, JSONB, _object)
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, JSONB)
    members: list[Planned] = []
    for name, member in fields(value):
        members += [Literal(name, TEXT), document(member)]
    built = call("jsonb_build_object", members)
    if isinstance(value, Call) and value.function == RECORD_OF:
        return built
    return Case(((is_null(value), Literal(None, JSONB)),), built, JSONB)


def has_only_nulls(value: TypedExpr) -> TypedExpr:
    """``value IS NULL`` of a record: whether it is NULL, or all its fields are."""
    return balanced("and", [is_null(item) for _, item in fields(value)])


def has_no_nulls(value: TypedExpr) -> TypedExpr:
    """``value IS NOT NULL`` of a record: whether none of its fields is NULL."""
    return balanced("and", [negated(is_null(item)) for _, item in fields(value)])

"""Plans of statements that use parameters only to look rows up by value, and to change the rows that
they find: these plans serve other values too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import TypeName
from reclock.plan.relational import Filter, Map, Plan, inputs, with_inputs
from reclock.plan.scalar_trees import rewrite, walk
from reclock.plan.scalars import Call, Cast, Literal, Parameter, Scalar
from reclock.sql.parameters import constant
from reclock.sql.queries.coercion import coerce
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.modify_plan import Modify

_TYPES = frozenset(
    {TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT, TypeName.TEXT, TypeName.BPCHAR}
)
"""Types whose constants are planned alike, whatever their value."""


def is_lookup(node: exp.Expr, planned: object) -> bool:
    """Whether every parameter stands alone on one side of an ``=`` in a filter of the plan, or, in
    UPDATE, is a new value or added to one, and stands nowhere else in the plan. Each is written
    once, so that planning has used up none.

    Planning the statement with values then gives the same plan with these values in it, but for
    which columns it knows not to be NULL.
    """
    if not isinstance(planned, Select | Modify):
        return False
    everywhere = [parameter.number for parameter in _parameters(planned)]
    bindable = sum(map(_compared_parameters, _predicates(planned.plan)))
    if isinstance(planned, Modify):
        bindable += sum(map(_assigned_parameters, _computed(planned.plan)))
    written = [int(parameter.this.name) for parameter in node.find_all(exp.Parameter)]
    return bindable == len(everywhere) == len(set(written)) and sorted(everywhere) == sorted(
        written
    )


def with_values(plan: Plan, values: Sequence[Any]) -> Plan:
    """The plan of a lookup with these values, none NULL, for its parameters."""

    def value_of(parameter: Parameter) -> Literal:
        return constant(values[parameter.number - 1], parameter.type)

    def bind(scalar: Scalar) -> Scalar | None:
        match scalar:
            case Parameter():
                return value_of(scalar)
            case Cast(Parameter() as parameter, type):
                return coerce(value_of(parameter), type)
        return None

    def visit(plan: Plan) -> Plan:
        bound = with_inputs(plan, [visit(part) for part in inputs(plan)])
        if isinstance(bound, Filter):
            return replace(
                bound, predicates=tuple(rewrite(predicate, bind) for predicate in bound.predicates)
            )
        if isinstance(bound, Map):
            return replace(bound, scalars=tuple(rewrite(scalar, bind) for scalar in bound.scalars))
        return bound

    return visit(plan)


def _parameters(part: Any) -> Iterator[Parameter]:
    """The parameters in a plan or any part of one, as often as they occur."""
    if isinstance(part, Parameter):
        yield part
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _parameters(item)
    elif is_dataclass(part):
        for place in fields(part):
            yield from _parameters(getattr(part, place.name))


def _predicates(plan: Plan) -> Iterator[Scalar]:
    if isinstance(plan, Filter):
        yield from plan.predicates
    for part in inputs(plan):
        yield from _predicates(part)


def _computed(plan: Plan) -> Iterator[Scalar]:
    if isinstance(plan, Map):
        yield from plan.scalars
    for part in inputs(plan):
        yield from _computed(part)


def _assigned_parameters(scalar: Scalar) -> int:
    """How many parameters are the value itself, or are added to, taken from or multiplied with
    whole numbers."""
    if _is_parameter(scalar):
        return 1
    if isinstance(scalar, Call) and scalar.function in ("+", "-", "*") and scalar.type.is_integer:
        return sum(map(_assigned_parameters, scalar.arguments))
    return 0


def _compared_parameters(predicate: Scalar) -> int:
    """How many parameters the predicate compares by ``=``."""
    return sum(
        _is_parameter(side) and not isinstance(other, Literal) and not _is_parameter(other)
        for part in walk(predicate)
        if isinstance(part, Call) and part.function == "=" and len(part.arguments) == 2
        for side, other in (part.arguments, reversed(part.arguments))
    )


def _is_parameter(scalar: Scalar) -> bool:
    match scalar:
        case Parameter(type=type):
            return type.element is None and type.name in _TYPES
        case Cast(Parameter(type=of), type):
            if type.name is TypeName.BPCHAR and (type.length is None or type.is_unconstrained):
                return of.name in (TypeName.TEXT, TypeName.BPCHAR)
            return of.element is None and of.is_integer and type.is_integer
    return False

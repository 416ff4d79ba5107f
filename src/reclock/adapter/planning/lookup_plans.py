"""Plans of statements that use parameters only to look rows up by value, and to change the rows that
they find: these plans serve other values too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeAlias, TypeVar

from sqlglot import exp

from reclock.algebra.relations import TypeName
from reclock.compute.reads.lookups import Lookup, Values, lookup_of
from reclock.plan.relational import Filter, Finishing, Map, Plan, inputs, with_inputs
from reclock.plan.scalar_trees import children, rewrite, walk, with_children
from reclock.plan.scalars import Call, Cast, Literal, Parameter, Scalar
from reclock.sql.parameters import constant
from reclock.sql.queries.coercion import coerce
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.modify_plan import Modify

_TYPES = frozenset(
    {TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT, TypeName.TEXT, TypeName.BPCHAR}
)
"""Types whose constants are planned alike, whatever their value."""

T = TypeVar("T")

Binder: TypeAlias = Callable[[Sequence[Any]], T]
"""Gives a part of a plan with values for its parameters."""


def is_lookup(node: exp.Expr, planned: object) -> bool:
    """Whether every parameter stands alone on one side of an ``=`` in a filter of the plan, or, in
    UPDATE, is a new value or added to one, and is nowhere else in the plan. Each is written
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


def binder(plan: Plan) -> Binder[Plan]:
    """Prepare the plan of a lookup for many executions: what it returns gives the plan with values,
    none NULL, for the parameters."""
    return _plan_binder(plan) or (lambda values: plan)


def lookup_binder(plan: Plan, finishing: Finishing) -> Binder[Lookup] | None:
    """Prepare the plan of a lookup for many reads from memory: what it returns gives the lookup with
    values, none NULL, for the parameters. None if the plan needs an engine."""
    prepared = lookup_of(_with_placeholders(plan), finishing)
    if prepared is None:
        return None

    def bind(values: Sequence[Any]) -> Lookup:
        named = [(column, _bound(constants, values)) for column, constants in prepared.named]
        return replace(prepared, named=named)

    return bind


@dataclass(frozen=True, slots=True, eq=False)
class _Placeholder:
    """In the place of a constant's value: the constant of a parameter."""

    bind: Binder[Scalar]


def _bound(constants: Values, values: Sequence[Any]) -> Values:
    """The constants, with values in the place of placeholders."""
    bound = set()
    for value in constants:
        if isinstance(value, _Placeholder):
            literal = value.bind(values)
            assert isinstance(literal, Literal)
            bound.add(literal.value)
        else:
            bound.add(value)
    return frozenset(bound)


def _with_placeholders(plan: Plan) -> Plan:
    """The plan with constants of placeholders in the place of parameters."""
    plan = with_inputs(plan, [_with_placeholders(part) for part in inputs(plan)])
    return _with_scalars(plan, [rewrite(scalar, _placeholder) for scalar in _scalars(plan)])


def _placeholder(scalar: Scalar) -> Literal | None:
    match scalar:
        case Parameter() | Cast(Parameter()):
            bind = _scalar_binder(scalar)
            assert bind is not None
            return Literal(_Placeholder(bind), scalar.type)
    return None


def _plan_binder(plan: Plan) -> Binder[Plan] | None:
    """None if the plan has no parameters."""
    parts = inputs(plan)
    bind_inputs = _all_binder(parts, [_plan_binder(part) for part in parts])
    scalars = _scalars(plan)
    bind_scalars = _all_binder(scalars, [_scalar_binder(scalar) for scalar in scalars])
    if bind_inputs is None and bind_scalars is None:
        return None

    def bind(values: Sequence[Any]) -> Plan:
        bound = plan if bind_inputs is None else with_inputs(plan, bind_inputs(values))
        return bound if bind_scalars is None else _with_scalars(bound, bind_scalars(values))

    return bind


def _scalars(plan: Plan) -> tuple[Scalar, ...]:
    """The scalars in which a lookup may have parameters."""
    match plan:
        case Filter():
            return plan.predicates
        case Map():
            return plan.scalars
    return ()


def _with_scalars(plan: Plan, scalars: Sequence[Scalar]) -> Plan:
    """The plan with these in the place of its ``_scalars``."""
    match plan:
        case Filter():
            return replace(plan, predicates=tuple(scalars))
        case Map():
            return replace(plan, scalars=tuple(scalars))
    return plan


def _scalar_binder(scalar: Scalar) -> Binder[Scalar] | None:
    """None if the scalar has no parameters."""
    match scalar:
        case Parameter(number, type):
            return lambda values: constant(values[number - 1], type)
        case Cast(Parameter(number, type), target):
            return lambda values: coerce(constant(values[number - 1], type), target)
    parts = children(scalar)
    bind_parts = _all_binder(parts, [_scalar_binder(part) for part in parts])
    if bind_parts is None:
        return None
    return lambda values: with_children(scalar, bind_parts(values))


def _all_binder(parts: Sequence[T], binders: Sequence[Binder[T] | None]) -> Binder[list[T]] | None:
    """Binds all parts, each by its binder; None if none has parameters."""
    if not any(binders):
        return None
    pairs = list(zip(parts, binders, strict=True))
    return lambda values: [part if bind is None else bind(values) for part, bind in pairs]


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

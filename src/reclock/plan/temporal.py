"""``mz_now()``: the time at which a plan is evaluated, in milliseconds.

A *temporal* condition compares it with a value of the row. As time passes, rows come to fulfil it,
or no longer do, without any change of the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.relations import BIGINT, BOOLEAN
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.errors import UnsupportedSql
from reclock.plan.build import compute, filter_rows, union
from reclock.plan.calls import has_call, node_scalars, replace_calls
from reclock.plan.relational import Distinct, Filter, Plan, inputs, work_tables
from reclock.plan.scalar_trees import rewrite
from reclock.plan.scalars import Call, Cast, Literal, Scalar
from reclock.plan.traversal import nodes_of

NOW = "mz_now"

_NOW = Call(NOW, (), BIGINT)

_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_CHANGES_AFTER = {"=": (0, 1), "<": (0,), ">=": (0,), "<=": (1,), ">": (1,)}
"""How long after the value that ``mz_now()`` is compared with the truth of the comparison
changes."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The truth of a condition on a row changes ``delay_ms`` after the time ``value``."""

    value: Scalar
    delay_ms: int


def is_temporal(scalar: Scalar) -> bool:
    """Whether the scalar's value depends on the time."""
    return has_call(scalar, _is_now)


def reads_now(plan: Plan) -> bool:
    """Whether a scalar of the plan depends on the time."""
    return any(any(map(is_temporal, node_scalars(node))) for node in nodes_of(plan))


def at_time(plan: Plan, at: Timestamp) -> Plan:
    """The plan as it is evaluated at ``at``."""
    return replace_calls(plan, _is_now, lambda call: Literal(int(at), call.type))


def conditions_with(predicates: tuple[Scalar, ...], now: Scalar) -> tuple[Scalar, ...]:
    """Conditions as they are evaluated at the time ``now``."""

    def ask(part: Scalar) -> Scalar | None:
        return now if part == _NOW else None

    return tuple(rewrite(predicate, ask) for predicate in predicates)


def check_maintainable(plan: Plan) -> None:
    """Raises ``UnsupportedSql`` if an index, a subscription or a sink could not follow the time."""
    if any(_uses_badly(node) for node in nodes_of(plan)):
        raise UnsupportedSql(
            "this use of mz_now() is not supported where changes are followed",
            detail=(
                "it must be known when rows come and go: mz_now() is compared with =, <, <=, "
                "> or >= with a number, timestamp or date of the row, in WHERE or HAVING"
            ),
            hint=(
                "combine conditions with AND only (UNION replaces OR), and move arithmetic to the "
                "other side: mz_now() <= event_ms + 3600000"
            ),
        )


def moments_after(plan: Plan, at: Timestamp) -> Plan | None:
    """The plan, over the rows at ``at``, of the later moments at which a temporal condition of
    ``plan`` changes its truth for one of these rows: pairs of a value and a delay, which add up to
    the moment. None if it has no temporal condition.

    The moments are right until an input changes, or until the first of them if a temporal
    condition is above another one.
    """
    parts = []
    for node in nodes_of(plan):
        if not isinstance(node, Filter) or not is_temporal_filter(node):
            continue
        others = [predicate for predicate in node.predicates if not is_temporal(predicate)]
        rows = filter_rows(at_time(node.input, at), others)
        for moment in moments_of(node.predicates):
            delay, value = Literal(moment.delay_ms, BIGINT), moment.value
            later = (_compared(value, ">", at - moment.delay_ms), _compared(value, "<", MAXIMUM))
            parts.append(compute(filter_rows(rows, later), [value, delay], ["value", "delay_ms"]))
    return Distinct(union(parts)) if parts else None


def due_between(predicates: tuple[Scalar, ...], before: Timestamp, at: Timestamp) -> Scalar:
    """A condition that holds for each row for which the truth of the temporal ones among
    ``predicates`` at ``before`` is not that at ``at``, and possibly for others."""
    ranges = [
        Call(
            "and",
            (
                _compared(moment.value, ">", before - moment.delay_ms),
                _compared(moment.value, "<=", at - moment.delay_ms),
            ),
            BOOLEAN,
        )
        for moment in moments_of(predicates)
    ]
    return ranges[0] if len(ranges) == 1 else Call("or", tuple(ranges), BOOLEAN)


def is_temporal_filter(node: Plan) -> bool:
    return isinstance(node, Filter) and any(map(is_temporal, node.predicates))


def are_nested(plan: Plan) -> bool:
    """Whether a temporal condition is above another one."""
    return any(
        is_temporal_filter(node) and any(map(reads_now, inputs(node))) for node in nodes_of(plan)
    )


def _is_now(call: Call) -> bool:
    return call.function == NOW


def _compared(value: Scalar, operator: str, bound: int) -> Call:
    return Call(operator, (value, Literal(int(bound), BIGINT)), BOOLEAN)


def _as_bigint(value: Scalar) -> Scalar:
    return value if value.type == BIGINT else Cast(value, BIGINT)


def _uses_badly(node: Plan) -> bool:
    if not isinstance(node, Filter):
        return any(map(is_temporal, node_scalars(node)))
    temporal = [predicate for predicate in node.predicates if is_temporal(predicate)]
    return any(_moments_of(predicate) is None for predicate in temporal) or (
        bool(temporal) and bool(work_tables(node))
    )


def moments_of(predicates: tuple[Scalar, ...]) -> list[Moment]:
    """When the truth of each temporal condition among ``predicates`` changes; the values are
    bigints."""
    return [
        moment
        for predicate in predicates
        if is_temporal(predicate)
        for moment in _moments_of(predicate) or ()
    ]


def _moments_of(condition: Scalar) -> list[Moment] | None:
    """When the truth of a temporal condition changes; None if that is not known."""
    match condition:
        case Call("and", arguments):
            parts = [_moments_of(part) if is_temporal(part) else [] for part in arguments]
            return None if None in parts else [m for part in parts if part for m in part]
        case Call(name, (left, right)) if name in _TURNED:
            if right == _NOW:
                left, right, name = right, left, _TURNED[name]
            if left != _NOW or is_temporal(right) or not right.type.is_integer:
                return None
            return [Moment(_as_bigint(right), delay) for delay in _CHANGES_AFTER[name]]
        case _:
            return None

"""Inner joins in an order in which each input has a key in common with the earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reclock.algebra.relations import BOOLEAN
from reclock.plan.build import join, project
from reclock.plan.relational import Join, JoinKind, Plan, inputs, with_inputs
from reclock.plan.scalar_trees import columns_of, move_columns
from reclock.plan.scalars import Call, ColumnRef, Scalar
from reclock.plan.totality import could_error


def connect_joins(plan: Plan) -> Plan:
    """Reorder chains of inner joins that pair every row of two inputs although another input has
    keys in common with both.

    SQL that lists tables in FROM and equates their columns in WHERE asks for such pairs. Inputs
    stay in their order where they can.
    """
    return _connected(plan, {})


def _connected(plan: Plan, results: dict[int, Plan]) -> Plan:
    """A node that several nodes read is connected once, and is in ``results`` then."""
    if id(plan) in results:
        return results[id(plan)]
    chain = _chain(plan)
    if chain is not None and chain.cross_joins:
        order, cross_joins = chain.connected_order()
        if cross_joins < chain.cross_joins:
            parts = [_connected(part, results) for part in chain.inputs]
            return results.setdefault(id(plan), chain.joined(parts, order))
    parts = [_connected(part, results) for part in inputs(plan)]
    return results.setdefault(id(plan), with_inputs(plan, parts))


@dataclass(frozen=True, slots=True)
class _Chain:
    """Inputs of inner joins, left to right, and the conditions on all their columns."""

    inputs: tuple[Plan, ...]
    keys: tuple[tuple[int, int], ...]
    residual: tuple[Scalar, ...]
    cross_joins: int
    """How many of the joins have no key."""

    def input_of(self, column: int) -> int:
        """The input that ``column`` comes from."""
        for place, part in enumerate(self.inputs):
            if column < len(part.desc):
                return place
            column -= len(part.desc)
        raise IndexError(column)

    def connected_order(self) -> tuple[list[int], int]:
        """An order of the inputs, and how many cross joins it has: next comes the first input that
        has a key in common with those before it, or else the first."""
        links = {frozenset(map(self.input_of, key)) for key in self.keys}
        order, remaining, cross_joins = [0], list(range(1, len(self.inputs))), 0
        while remaining:
            connected = [place for place in remaining if any({place, at} in links for at in order)]
            cross_joins += not connected
            order.append((connected or remaining)[0])
            remaining.remove(order[-1])
        return order, cross_joins

    def joined(self, parts: Sequence[Plan], order: Sequence[int]) -> Plan:
        """The join of ``parts``, the inputs, in this order. Its columns are in the old one."""
        starts = [0]
        for part in parts:
            starts.append(starts[-1] + len(part.desc))
        columns = [column for place in order for column in range(starts[place], starts[place + 1])]
        places = {column: place for place, column in enumerate(columns)}
        types = [type for part in parts for type in part.desc.types]
        conditions: list[Scalar] = [
            Call("=", tuple(ColumnRef(places[side], types[side]) for side in key), BOOLEAN)
            for key in self.keys
        ]
        conditions += [move_columns(condition, places.__getitem__) for condition in self.residual]
        result = parts[order[0]]
        for place in order[1:]:
            width = len(result.desc) + len(parts[place].desc)
            ready = [one for one in conditions if max(columns_of(one), default=0) < width]
            conditions = [one for one in conditions if one not in ready]
            result = join(result, parts[place], JoinKind.INNER, ready)
        return project(result, [places[column] for column in range(len(columns))])


def _chain(plan: Plan) -> _Chain | None:
    """The largest chain that ``plan`` ends; None if it is no inner join, or has a condition that
    could raise an error, which must not meet other rows."""
    if not (isinstance(plan, Join) and plan.kind is JoinKind.INNER) or _could_error(plan.residual):
        return None
    left, right = (_chain(part) or _Chain((part,), (), (), 0) for part in (plan.left, plan.right))
    width = len(plan.left.desc)
    return _Chain(
        (*left.inputs, *right.inputs),
        (
            *left.keys,
            *((a + width, b + width) for a, b in right.keys),
            *((a, b + width) for a, b in plan.keys),
        ),
        (
            *left.residual,
            *(move_columns(one, lambda column: column + width) for one in right.residual),
            *plan.residual,
        ),
        left.cross_joins + right.cross_joins + (not plan.keys),
    )


def _could_error(conditions: Iterable[Scalar]) -> bool:
    return any(could_error(condition) for condition in conditions)

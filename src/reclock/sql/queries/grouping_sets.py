"""GROUPING SETS, ROLLUP and CUBE: the keys of GROUP BY in all their combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from math import prod

from sqlglot import exp

from reclock.errors import AggregateNotAllowed, InvalidGrouping, InvalidWindow, UnsupportedSql
from reclock.sql.names import fold
from reclock.sql.queries.expressions import ExprContext, reject_unsupported
from reclock.sql.queries.grouping import makes_groups, without_lone_item_keys
from reclock.sql.queries.outer_aggregates import LiftedSelect
from reclock.sql.queries.planned import InWindow, ItemKey, TypedExpr, has
from reclock.sql.queries.row_functions import has_rows
from reclock.sql.queries.select_items import SelectItem, by_input, item_at_position, item_named

_CUBE_LIMIT, _SETS_LIMIT = 12, 4096


def grouping_sets(
    select: LiftedSelect, items: Sequence[SelectItem[TypedExpr]]
) -> list[list[TypedExpr]]:
    """The keys of GROUP BY, in all their combinations."""
    clause = select.node.args.get("group")
    expr_context = replace(select.context, takes_aggregates=False, clause="GROUP BY")
    if clause is None:
        return [[]]
    reject_unsupported(
        clause, "expressions", "all"
    )  # GROUP BY ALL is the opposite of GROUP BY DISTINCT, and what is meant without either
    if not clause.expressions:
        raise UnsupportedSql("GROUP BY ALL without keys is not supported", hint="name the keys")

    def key(node: exp.Expr) -> TypedExpr:
        return _key(node, select, items, expr_context)

    choices = [_sets(element, key) for element in clause.expressions]
    if prod(map(len, choices)) > _SETS_LIMIT:
        raise InvalidGrouping(
            f"too many grouping sets present (maximum {_SETS_LIMIT})", sqlstate="54001"
        )
    key_lists = without_lone_item_keys(
        [list(dict.fromkeys(chain.from_iterable(chosen))) for chosen in product(*choices)]
    )
    if len(key_lists) > 1 and any(map(has_rows, key_lists)):
        raise UnsupportedSql(
            "a function that answers rows is not supported in GROUPING SETS",
            hint="put it into FROM",
        )
    is_distinct = clause.args.get("all") is False
    return (
        list({frozenset(grouping_set): grouping_set for grouping_set in key_lists}.values())
        if is_distinct
        else key_lists
    )


def _key(
    node: exp.Expr,
    select: LiftedSelect,
    items: Sequence[SelectItem[TypedExpr]],
    context: ExprContext,
) -> TypedExpr:
    """The key that an expression of GROUP BY means: an item of the select list by its position or
    its name, or a value of the input."""
    node = node.unnest() if isinstance(node, exp.Paren) else node
    position = item_at_position(node, items, "GROUP BY")
    if (
        isinstance(node, exp.Column)
        and len(node.parts) == 1
        and context.scope.find(fold(node.this)) is None
    ):
        position = item_named(node, items, "GROUP BY")
    if position is None:
        key = select.place(by_input(node, context, "GROUP BY"))
    else:
        key = items[position].value
    if makes_groups(key):
        raise AggregateNotAllowed("aggregate functions are not allowed in GROUP BY")
    if has(key, InWindow):
        raise InvalidWindow("window functions are not allowed in GROUP BY")
    if position is None or [item.value for item in items].index(key) == position:
        return key
    return ItemKey(key, position)


def _sets(node: exp.Expr, key: Callable[[exp.Expr], TypedExpr]) -> list[list[TypedExpr]]:
    """The sets of keys that one element of GROUP BY stands for."""

    def together(node: exp.Expr) -> list[TypedExpr]:
        if isinstance(node, exp.Tuple):
            return _concatenated(map(together, node.expressions))
        return [key(node)]

    match node:
        case exp.GroupingSets():
            return [keys for element in node.expressions for keys in _sets(element, key)]
        case exp.Rollup():
            parts = [together(element) for element in node.expressions]
            return [_concatenated(parts[:count]) for count in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = [together(element) for element in node.expressions]
            if len(parts) > _CUBE_LIMIT:
                raise InvalidGrouping(
                    f"CUBE is limited to {_CUBE_LIMIT} elements", sqlstate="54011"
                )
            return [
                _concatenated(chosen)
                for count in range(len(parts), -1, -1)
                for chosen in combinations(parts, count)
            ]
        case _:
            return [together(node)]


def _concatenated(parts: Iterable[list[TypedExpr]]) -> list[TypedExpr]:
    return list(chain.from_iterable(parts))

"""A plan as one SQL statement: a chain of common table expressions, one a node, each written by its operator's snapshot rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute.operators import demand, snapshot
from reclock.compute.operators.get import stored
from reclock.compute.operators.rules import EMPTY_ROW, EngineRelation, Rendering, columns
from reclock.compute.operators.topk import limited, order_by
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.relational import Filter, Finishing, Get, Plan, collections, inputs
from reclock.plan.scalars import Scalar
from reclock.plan.totality import could_error


@dataclass(frozen=True, slots=True)
class Chain:
    """Common table expressions, the last of them ``result``: the plan's rows, in columns ``c0``, ``c1``, …"""

    expressions: tuple[str, ...]
    result: str

    def __str__(self) -> str:
        return "WITH " + ",\n".join(self.expressions)


def render(plan: Plan, engine: str, relations: Mapping[str, EngineRelation], as_of: Timestamp) -> Chain:
    """The plan at ``as_of`` over ``relations`` (by collection id as text). Pure; raises ``UnsupportedSql`` if ``engine`` cannot."""
    nodes: dict[int, Plan] = {}
    list_nodes(plan, nodes)
    rendering = Rendering(engine, as_of, relations, wanted_columns(plan, nodes), pushed_predicates(nodes))
    names = {key: f"n{index}" for index, key in enumerate(nodes)}
    selects = {key: snapshot(node, rendering, [names[id(child)] for child in inputs(node)]) for key, node in nodes.items()}
    return Chain(tuple(f"{names[key]} AS ({select})" for key, select in selects.items()), names[id(plan)])


def check_supported(plan: Plan) -> None:
    """Raises ``UnsupportedSql`` if no engine can compute the plan, whatever its collections hold."""
    relations = {str(id): EngineRelation("relation", is_counted=False) for id in collections(plan)}
    with suppress(EvaluationError):  # a plan that always raises an error can be computed
        try:
            render(plan, "duckdb", relations, Timestamp(0))
        except UnsupportedSql:
            render(plan, "spark", relations, Timestamp(0))


def visible(desc: RelationDesc, finishing: Finishing) -> tuple[Column, ...]:
    """The columns that a statement shows."""
    return desc.columns if finishing.visible is None else desc.columns[: finishing.visible]


def select(plan: Plan, finishing: Finishing, engine: str, relations: Mapping[str, EngineRelation], as_of: Timestamp) -> str:
    """The whole statement: the plan's rows ordered, limited, and cut to the visible columns.

    Ordered or limited rows come in a definite order: ties, and rows without an ORDER BY, by all remaining columns.
    """
    chain = render(plan, engine, relations, as_of)
    shown = ", ".join(columns(plan)[: len(visible(plan.desc, finishing))]) or EMPTY_ROW
    is_ordered = bool(finishing.order) or finishing.limit is not None or finishing.offset > 0
    terms = order_by(finishing.order, plan.desc.types, engine) if is_ordered else ""
    ordered = f" ORDER BY {terms}" if terms else ""
    return f"{chain}\nSELECT {shown} FROM {chain.result}{ordered}{limited(finishing.limit, finishing.offset)}"


def difference(
    plan: Plan,
    desc: RelationDesc,
    engine: str,
    relations: Mapping[str, EngineRelation],
    as_of: Timestamp,
    previous_result: Sequence[tuple[EngineRelation, Timestamp]],
) -> str:
    """The updates that turn those in ``previous_result``, each up to a time, into the plan at ``as_of``.

    Columns ``c0`` … as in the plan, and ``mz_diff``, never zero; no row twice. ``previous_result`` has the desc's columns by name.
    """
    chain = render(plan, engine, relations, as_of)
    names = columns(plan)
    stored_columns = [f"{stored(engine, column)} AS c{index}" for index, column in enumerate(desc.columns)]
    parts = [f"SELECT {', '.join([*names, '1 AS n'])} FROM {chain.result}"] + [
        f"SELECT {', '.join([*stored_columns, f'- {DIFF_COLUMN} AS n'])} FROM {relation.name} WHERE {TIME_COLUMN} <= {until:d}"
        for relation, until in previous_result
    ]
    groups = f"GROUP BY {', '.join(str(index + 1) for index in range(len(names)))} " if names else ""
    total = f"CAST(sum(n) AS BIGINT) AS {DIFF_COLUMN}"
    return f"{chain}\nSELECT {', '.join([*names, total])} FROM ({' UNION ALL '.join(parts)}) AS changed {groups}HAVING sum(n) <> 0"


def comparison(
    plan: Plan,
    engine: str,
    now: tuple[Mapping[str, EngineRelation], Timestamp],
    before: tuple[Mapping[str, EngineRelation], Timestamp] | None,
) -> str:
    """The difference between the plan's rows and those before, each over relations at a time; without a before all are inserts.

    Columns ``c0`` … and ``mz_diff``, never zero; no row twice.
    """
    names = columns(plan)
    parts: list[str] = []
    for state, sign in ((now, 1), (before, -1)):
        if state is not None:
            chain = render(plan, engine, *state)
            parts.append(
                f"SELECT {', '.join([*names, f'{sign} AS n'])} FROM ({chain}\nSELECT * FROM {chain.result}) AS s{len(parts)}"
            )
    groups = f"GROUP BY {', '.join(names)} " if names else ""
    total = f"CAST(sum(n) AS BIGINT) AS {DIFF_COLUMN}"
    return f"SELECT {', '.join([*names, total])} FROM ({' UNION ALL '.join(parts)}) AS compared {groups}HAVING sum(n) <> 0"


def list_nodes(node: Plan, nodes: dict[int, Plan]) -> None:
    """Every node once, inputs before what reads them."""
    if id(node) not in nodes:
        for child in inputs(node):
            list_nodes(child, nodes)
        nodes[id(node)] = node


def wanted_columns(plan: Plan, nodes: Mapping[int, Plan]) -> dict[int, frozenset[int]]:
    """The columns that anything reads of each node; all of the whole plan's."""
    wanted: dict[int, frozenset[int]] = {key: frozenset() for key in nodes}
    wanted[id(plan)] = frozenset(range(len(plan.desc)))
    for key, node in reversed(list(nodes.items())):
        for child, read in zip(inputs(node), demand(node, wanted[key]), strict=True):
            wanted[id(child)] |= read
    return wanted


def pushed_predicates(nodes: Mapping[int, Plan]) -> dict[int, tuple[Scalar, ...]]:
    """Of each Get that only a Filter reads, the predicates that cannot raise an error for any row."""
    readers = Counter(id(child) for node in nodes.values() for child in inputs(node))
    return {
        id(node.input): tuple(predicate for predicate in node.predicates if not could_error(predicate))
        for node in nodes.values()
        if isinstance(node, Filter) and isinstance(node.input, Get) and readers[id(node.input)] == 1
    }

"""Renders a plan as one SQL statement: a chain of common table expressions, one for each node, by
its operator's snapshot rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute.operators import demand, snapshot
from reclock.compute.operators.get import stored
from reclock.compute.operators.recursive_union import Loop, iterated, loop
from reclock.compute.operators.rules import EMPTY_ROW, EngineRelation, Rendering, columns, every
from reclock.compute.operators.topk import limited, order_by
from reclock.compute.signs import signed_nodes
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.mutual_recursion import parts_without_blocks
from reclock.plan.relational import (
    Filter,
    Finishing,
    Get,
    Plan,
    RecursiveUnion,
    collections,
    inputs,
    work_tables,
)
from reclock.plan.scalars import Scalar
from reclock.plan.temporal import at_time, is_temporal
from reclock.plan.totality import could_error
from reclock.plan.traversal import nodes_by_id, parts_computed_once


@dataclass(frozen=True, slots=True)
class Chain:
    """Common table expressions, the last of them ``result``: the plan's rows, in columns ``c0``,
    ``c1``, …

    They may read the results of ``loops``, each of which may read earlier ones, and the sequences
    ``counters``. ``has_signs``: some evaluate expressions on rows that are deleted, too (`signs`).
    """

    expressions: tuple[str, ...]
    result: str
    loops: tuple[Loop, ...] = ()
    counters: tuple[str, ...] = ()
    has_signs: bool = False

    def __str__(self) -> str:
        return "WITH " + ",\n".join(self.expressions)


@dataclass(frozen=True, slots=True)
class EngineStatement:
    """What an engine executes: first the loops, in order, then ``sql``. Before, it stores the
    relations ``shared``, each a name and a SELECT that may read earlier ones, and makes new
    sequences ``counters``. If it ``has_signs``, it may fail on a row that is deleted; it then must
    be rendered again, over relations without signs."""

    sql: str
    loops: tuple[Loop, ...] = ()
    counters: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    has_signs: bool = False

    def calls(self, prefix: str) -> bool:
        """Whether it calls a function whose name begins with ``prefix``."""
        texts = [select for loop in self.loops for _, select in loop.invariants]
        texts += [select for _, select in self.shared]
        texts += [text for loop in self.loops for text in (loop.base, loop.step)]
        return any(prefix in text for text in (self.sql, *texts))


def render(
    plan: Plan,
    engine: str,
    relations: Mapping[str, EngineRelation],
    as_of: Timestamp,
    scratch: str = "",
) -> Chain:
    """The plan at ``as_of`` over ``relations`` (by collection id as text). Pure; raises
    ``UnsupportedSql`` if ``engine`` cannot.

    The names of relations that loops make begin with ``scratch``.
    """
    plan = at_time(plan, as_of)
    nodes = nodes_by_id(plan)
    steps = {
        id(node): _step_nodes(node) for node in nodes.values() if isinstance(node, RecursiveUnion)
    }
    in_steps = {key for step in steps.values() for key in step}
    rendering = Rendering(
        engine,
        as_of,
        relations,
        required_columns(plan, nodes),
        pushed_predicates(nodes),
        scratch,
        signed_nodes(nodes, relations, in_steps) if engine == "duckdb" else frozenset(),
    )
    names = {key: f"n{index}" for index, key in enumerate(nodes)}
    invariants = {key: _invariants(nodes[key], step, names) for key, step in steps.items()}
    computed_once = {name for names_read in invariants.values() for name in names_read}
    computed_once |= {names[key] for key in parts_computed_once(plan)}
    expressions: list[str] = []
    loops: list[Loop] = []
    counters: list[str] = []

    def select(node: Plan) -> str:
        return snapshot(node, rendering, [names[id(child)] for child in inputs(node)])

    for key, node in nodes.items():
        if key in in_steps:
            continue
        once = "MATERIALIZED " if engine == "duckdb" and names[key] in computed_once else ""
        if not isinstance(node, RecursiveUnion):
            expressions.append(f"{names[key]} AS {once}({select(node)})")
            continue
        step = [f"{names[part]} AS ({select(part_node)})" for part, part_node in steps[key].items()]
        base, last = names[id(node.base)], names[id(node.step)]
        if engine == "duckdb":
            # iterations of a second evaluation would be counted too
            counters.append(f"{scratch}{names[key]}_iterations")
            recursion = iterated(node, rendering, base, step, last, counters[-1])
            expressions.append(f"{names[key]} AS MATERIALIZED ({recursion})")
            continue
        loops.append(
            loop(node, rendering, names[key], expressions, invariants[key], base, step, last)
        )
        expressions.append(f"{names[key]} AS (SELECT * FROM {loops[-1].result})")
    return Chain(
        tuple(expressions),
        names[id(plan)],
        tuple(loops),
        tuple(counters),
        has_signs=bool(rendering.signed),
    )


def _step_nodes(union: RecursiveUnion) -> dict[int, Plan]:
    """The nodes that each iteration computes again, inputs before their readers."""
    nodes = nodes_by_id(union.step)
    return {key: node for key, node in nodes.items() if union.id in work_tables(node)}


def _invariants(union: Plan, step: Mapping[int, Plan], names: Mapping[int, str]) -> list[str]:
    """The nodes that the step of ``union`` reads and that no iteration changes."""
    read = [child for node in (union, *step.values()) for child in inputs(node)]
    return list(dict.fromkeys(names[id(child)] for child in read[1:] if id(child) not in step))


def check_supported(plan: Plan) -> None:
    """Raises ``UnsupportedSql`` if no engine can run the plan, whatever its collections contain."""
    for part in parts_without_blocks(plan):
        with suppress(EvaluationError):  # a plan that always raises an error can be computed
            try:
                check_supported_by("duckdb", part)
            except UnsupportedSql:
                check_supported_by("spark", part)


def check_supported_by(engine: str, plan: Plan) -> None:
    """Raises ``UnsupportedSql`` if this engine cannot run the plan, and ``EvaluationError`` if the
    plan always fails."""
    relations = {str(id): EngineRelation("relation", is_counted=False) for id in collections(plan)}
    render(plan, engine, relations, Timestamp(0))


def visible(desc: RelationDesc, finishing: Finishing) -> tuple[Column, ...]:
    """The columns of the statement's result."""
    return desc.columns if finishing.visible is None else desc.columns[: finishing.visible]


def select(
    plan: Plan,
    finishing: Finishing,
    engine: str,
    relations: Mapping[str, EngineRelation],
    as_of: Timestamp,
    scratch: str = "",
) -> EngineStatement:
    """The whole statement: the plan's rows ordered, limited, and cut to the visible columns.

    Ordered or limited rows come in a definite order: ties, and rows without an ORDER BY, by all
    remaining columns.
    """
    chain = render(plan, engine, relations, as_of, scratch)
    select_list = ", ".join(columns(plan)[: len(visible(plan.desc, finishing))]) or EMPTY_ROW
    is_ordered = bool(finishing.order) or finishing.limit is not None or finishing.offset > 0
    terms = order_by(finishing.order, plan.desc.types, engine) if is_ordered else ""
    ordered = f" ORDER BY {terms}" if terms else ""
    sql = (
        f"{chain}\nSELECT {select_list} FROM "
        f"{chain.result}{ordered}{limited(finishing.limit, finishing.offset)}"
    )
    return EngineStatement(sql, chain.loops, chain.counters, has_signs=chain.has_signs)


def difference(
    plan: Plan,
    desc: RelationDesc,
    engine: str,
    relations: Mapping[str, EngineRelation],
    as_of: Timestamp,
    previous_result: Sequence[tuple[EngineRelation, Timestamp]],
    scratch: str = "",
) -> EngineStatement:
    """The updates that turn those in ``previous_result``, each up to a time, into the plan at
    ``as_of``.

    Columns ``c0`` … as in the plan, and ``mz_diff``, never zero; no row twice. ``previous_result``
    has the desc's columns by name.
    """
    chain = render(plan, engine, relations, as_of, scratch)
    names = columns(plan)
    stored_columns = [
        f"{stored(engine, column)} AS c{index}" for index, column in enumerate(desc.columns)
    ]
    parts = [f"SELECT {', '.join([*names, '1 AS n'])} FROM {chain.result}"] + [
        (
            f"SELECT {', '.join([*stored_columns, f'- {DIFF_COLUMN} AS n'])} FROM "
            f"{relation.name} WHERE {TIME_COLUMN} <= {until:d}"
        )
        for relation, until in previous_result
    ]
    groups = (
        f"GROUP BY {', '.join(str(index + 1) for index in range(len(names)))} " if names else ""
    )
    total = f"CAST(sum(n) AS BIGINT) AS {DIFF_COLUMN}"
    changed = " UNION ALL ".join(parts)
    sql = (
        f"{chain}\nSELECT {', '.join([*names, total])} FROM ({changed}) AS changed "
        f"{groups}HAVING sum(n) <> 0"
    )
    return EngineStatement(sql, chain.loops, chain.counters, has_signs=chain.has_signs)


def comparison(
    plan: Plan,
    engine: str,
    now: tuple[Mapping[str, EngineRelation], Timestamp],
    before: tuple[Mapping[str, EngineRelation], Timestamp] | None,
    scratch: str = "",
) -> EngineStatement:
    """The difference between the plan's rows and those before, each over relations at a time;
    without a before all are inserts.

    Columns ``c0`` … and ``mz_diff``, never zero; no row twice.
    """
    names = columns(plan)
    parts: list[str] = []
    loops: list[Loop] = []
    counters: list[str] = []
    has_signs = False
    for state, sign in ((now, 1), (before, -1)):
        if state is not None:
            chain = render(plan, engine, *state, f"{scratch}s{len(parts)}")
            loops += chain.loops
            counters += chain.counters
            has_signs |= chain.has_signs
            parts.append(
                f"SELECT {', '.join([*names, f'{sign} AS n'])} FROM ({chain}\nSELECT * "
                f"FROM {chain.result}) AS s{len(parts)}"
            )
    groups = f"GROUP BY {', '.join(names)} " if names else ""
    total = f"CAST(sum(n) AS BIGINT) AS {DIFF_COLUMN}"
    compared = " UNION ALL ".join(parts)
    sql = (
        f"SELECT {', '.join([*names, total])} FROM ({compared}) AS compared {groups}HAVING "
        "sum(n) <> 0"
    )
    return EngineStatement(sql, tuple(loops), tuple(counters), has_signs=has_signs)


def required_columns(plan: Plan, nodes: Mapping[int, Plan]) -> dict[int, frozenset[int]]:
    """The columns of each node that are read; of the whole plan, all, and of a collection that may
    have a row with a negative multiplicity."""
    required: dict[int, frozenset[int]] = {
        key: every(node) if isinstance(node, Get) and node.may_be_negative else frozenset()
        for key, node in nodes.items()
    }
    required[id(plan)] = every(plan)
    for key, node in reversed(list(nodes.items())):
        for child, read in zip(inputs(node), demand(node, required[key]), strict=True):
            required[id(child)] |= read
    return required


def pushed_predicates(nodes: Mapping[int, Plan]) -> dict[int, tuple[Scalar, ...]]:
    """For each Get that only a Filter reads, the predicates that cannot raise an error for any
    row, and do not depend on the time."""
    readers = Counter(id(child) for node in nodes.values() for child in inputs(node))
    return {
        id(node.input): tuple(
            predicate
            for predicate in node.predicates
            if not could_error(predicate) and not is_temporal(predicate)
        )
        for node in nodes.values()
        if isinstance(node, Filter) and isinstance(node.input, Get) and readers[id(node.input)] == 1
    }

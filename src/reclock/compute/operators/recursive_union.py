"""RecursiveUnion and WorkTable: iteration until a step adds no rows.

DuckDB iterates within the statement. For Spark a recursion is a ``Loop`` that the engine computes
before the statement. A ``MutualRecursion`` has no snapshot rule: engines take it out of a plan
before (``compute.engines.fixpoints``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reclock.compute.operators.rules import Rendering, columns, demand, every, has_delta, snapshot
from reclock.errors import UnsupportedSql
from reclock.plan.functions.sql_names import raised, string, type_sql
from reclock.plan.relational import MutualRecursion, RecursiveUnion, WorkTable


@dataclass(frozen=True, slots=True)
class Loop:
    """A recursion as statements, which an engine executes in this order; relations outlive the
    loop."""

    name: str
    """What the user calls the recursive query."""
    most_iterations: int
    invariants: tuple[tuple[str, str], ...]
    """Relations that no iteration changes, and the statements that compute them, once."""
    base: str
    step: str
    """The rows that an iteration adds. It reads the relations ``work_table``, the rows that the
    iteration before added, and ``result``, all rows so far."""
    work_table: str
    result: str


def iterations_exceeded(name: str, most_iterations: int) -> str:
    """The message of the error of a recursion that has not ended by then."""
    return f'recursive query "{name}" did not end within {most_iterations} iterations'


def work_table(rendering: Rendering, id: int) -> str:
    """The relation of the work table in the engine's session."""
    return f"{rendering.scratch}w{id}"


def iterated(
    node: RecursiveUnion,
    rendering: Rendering,
    base: str,
    chain: Sequence[str],
    step: str,
    counter: str,
) -> str:
    """The recursion as one SELECT of DuckDB over the relations ``base`` and ``step``; the
    expressions ``chain`` lead to the latter. ``counter`` is a new sequence of the session.

    DuckDB begins an iteration if the one before added rows, and computes the subquery that takes
    the next number once in each. So the recursion is too long if it begins the second iteration
    after the last that may add rows.
    """
    limit = node.most_iterations if node.limit is None else node.limit
    message = string("duckdb", iterations_exceeded(node.name, limit))
    number = f"(SELECT nextval({string('duckdb', counter)}) AS number) AS counter"
    limited = (
        f"CASE WHEN number > {node.most_iterations + 1:d} THEN "
        f"{raised('duckdb', '54000', message)} ELSE true END"
    )
    names, work = columns(node), work_table(rendering, node.id)
    values = cast_columns(node, "duckdb")
    union = "UNION" if node.is_distinct else "UNION ALL"
    defined = f"WITH {', '.join(chain)} " if chain else ""
    return (
        f"WITH RECURSIVE {work} ({', '.join(names)}) AS (SELECT {values} FROM {base} {union} "
        f"({defined}SELECT {values} FROM {step}, {number} WHERE {limited})) SELECT "
        f"{', '.join(names)} FROM {work}"
    )


def loop(
    node: RecursiveUnion,
    rendering: Rendering,
    name: str,
    before: Sequence[str],
    invariants: Sequence[str],
    base: str,
    chain: Sequence[str],
    step: str,
) -> Loop:
    """The recursion as statements of Spark. ``before`` defines ``base`` and the ``invariants``, and
    ``chain`` the ``step``."""
    result, defined = f"{rendering.scratch}{name}", f"WITH {', '.join(before)} "
    relations = {invariant: f"{rendering.scratch}{invariant}" for invariant in invariants}
    read = [
        f"{invariant} AS (SELECT * FROM {relation})" for invariant, relation in relations.items()
    ]
    values, distinct, new = cast_columns(node, rendering.engine), "", ""
    if node.is_distinct:
        distinct, new = "DISTINCT ", f" EXCEPT SELECT * FROM {result}"
    return Loop(
        name=node.name,
        most_iterations=node.most_iterations,
        invariants=tuple(
            (relation, f"{defined}SELECT * FROM {invariant}")
            for invariant, relation in relations.items()
        ),
        base=f"{defined}SELECT {distinct}{values} FROM {base}",
        step=f"WITH {', '.join([*read, *chain])} SELECT {values} FROM {step}{new}",
        work_table=work_table(rendering, node.id),
        result=result,
    )


def cast_columns(node: RecursiveUnion, engine: str) -> str:
    """The columns as exactly the node's types, so that the engine does not choose types that fit
    base and step."""
    pairs = zip(columns(node), node.desc.types, strict=True)
    return ", ".join(f"CAST({name} AS {type_sql(engine, type)}) AS {name}" for name, type in pairs)


@snapshot.register
def _(node: WorkTable, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT {', '.join(columns(node))} FROM {work_table(rendering, node.id)}"


@snapshot.register
def _(node: RecursiveUnion, rendering: Rendering, inputs: Sequence[str]) -> str:
    """Only within the step of another one; everywhere else it is written with the nodes of its own
    step."""
    raise UnsupportedSql(
        f'recursive query "{node.name}" within another recursive query must not read that one'
    )


@demand.register
def _(node: WorkTable, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return ()


@demand.register
def _(node: RecursiveUnion, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return every(node), every(node)


@demand.register
def _(node: MutualRecursion, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return tuple(every(value) for value in node.values)


@has_delta.register(RecursiveUnion)
@has_delta.register(MutualRecursion)
def _(node: RecursiveUnion | MutualRecursion, is_shown: bool) -> bool:
    return False

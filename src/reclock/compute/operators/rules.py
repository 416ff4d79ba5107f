"""The rules of operators, as generic functions with which each operator's file registers, and their
arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import singledispatch
from typing import Any, Protocol

from reclock.algebra.timestamps import Timestamp
from reclock.errors import InternalError
from reclock.plan.relational import Filter, Get, Join, Plan
from reclock.plan.scalars import Scalar
from reclock.plan.totality import could_error

EMPTY_ROW = "TRUE AS c"
"""The select list of a relation without columns, which SQL does not have: a column that nothing
reads."""


@dataclass(frozen=True, slots=True)
class EngineRelation:
    """The relation of a collection in the engine's session.

    If it ``is_counted``, it has the columns of updates, and must be read at a time; otherwise its
    rows count as they are. ``is_monotonic``: each of its diffs is positive, so that no update
    retracts another. ``is_single``: each diff is one; ``is_mostly_single``: most diffs are.
    ``is_signed``: some may be minus one, too, and no other.
    """

    name: str
    is_counted: bool
    is_monotonic: bool = False
    is_single: bool = False
    is_mostly_single: bool = False
    is_signed: bool = False


@dataclass(frozen=True, slots=True)
class Rendering:
    """The engine and the time for which a plan is rendered. ``relations`` are by collection,
    ``required_columns`` by node."""

    engine: str
    as_of: Timestamp
    relations: Mapping[str, EngineRelation]
    """By the collection's id as text."""
    required_columns: Mapping[int, frozenset[int]]
    """The columns that the plan reads of a node, by ``id(node)``."""
    predicates: Mapping[int, Sequence[Scalar]]
    """Of a Get, by ``id(node)``: predicates that hold for every row that is needed. Other rows may
    be left out."""
    scratch: str = ""
    """The prefix of the relations that the engine creates for the statement."""
    signed: frozenset[int] = frozenset()
    """The nodes, by ``id(node)``, whose rows are updates: after the node's columns they have ``n``,
    which is 1 or -1. Of equal rows, those with 1 and -1 take each other back."""

    def sign(self, node: Plan, alias: str = "") -> str:
        """What follows the node's columns in a select list; ``alias`` is that of its input."""
        if id(node) not in self.signed:
            return ""
        return f", {alias}.n AS n" if alias else ", n"


class InputVersion(Enum):
    """Which of the two versions of an input: before or after the step."""

    BEFORE = "before"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Only rows whose values in ``columns`` are, NULL or not, a row of the relation ``keys``, which
    has as many columns. Unless it ``is_exact``, others may be among them: the reader compares the
    keys anyway."""

    columns: tuple[int, ...]
    keys: str
    is_exact: bool = True

    def condition(self, values: Sequence[str]) -> str:
        """On a row whose columns are spelled ``values``; their names must not be those of a
        rendered node's columns."""
        equal = [
            f"k.c{place} IS NOT DISTINCT FROM {values[index]}"
            for place, index in enumerate(self.columns)
        ]
        return f"EXISTS (SELECT 1 FROM {self.keys} AS k WHERE {' AND '.join(equal) or 'TRUE'})"


@dataclass(frozen=True, slots=True)
class GroupState:
    """The partial aggregates of a node's groups in ``table``, with the time of each in a column
    ``t``.

    Those up to ``before`` are as of the beginning of the step. ``changes`` is what the step has
    added to them, one row a group; None if it changes no row of the input.
    """

    table: str
    changes: str | None
    before: Timestamp


class NoRuleByTime(Exception):
    """A step by time meets a rule that cannot say at which of its times a row changes."""


class NoContinuation(Exception):
    """The rows that the inputs of a recursion gained and lost do not tell those of the recursion.
    The text says why."""


class DeltaStep(Protocol):
    """What a delta rule may request. Relations are returned by name, with columns ``c0``,
    ``c1``, …"""

    @property
    def by_time(self) -> bool:
        """Whether the step is *by time*: changes have one more column ``t``, the time after
        ``before`` and up to the step's at which each happens. No input changes between these, so
        rows come and go by temporal filters alone. A rule without a meaning then raises
        ``NoRuleByTime``."""
        ...

    @property
    def rendering(self) -> Rendering:
        """The engine and the time of the step. ``as_of`` is its later time."""
        ...

    @property
    def before(self) -> Timestamp:
        """The earlier time of the step."""
        ...

    def changes(self, node: Plan) -> str | None:
        """The node's changes, not consolidated: its columns, and ``n``, by how many copies. None if
        nothing changed.

        The same row may occur several times, with an ``n`` that sums to zero. Each row was in the
        node before the step or is in it afterwards, so no expression is evaluated on a row that
        never was. Rules that are linear in the changes use these; a rule that asks whether a row
        came or went must use ``net_changes``.
        """
        ...

    def net_changes(self, node: Plan) -> str | None:
        """The node's changes, consolidated over the columns that the plan reads of it: each row
        once, and ``n`` is never zero. So ``n > 0`` means that rows came, and ``n < 0`` that rows
        went."""
        ...

    def rows(self, node: Plan, state: InputVersion, key_filter: KeyFilter | None = None) -> str:
        """The node's rows before the step or after it; with a ``key_filter``, only those that it
        names."""
        ...

    def due_rows(self, node: Filter) -> str:
        """Of the rows of the filter's input before the step, those for which its conditions on the
        time may have become true or false, and possibly others."""
        ...

    def result(self, node: Plan, key_filter: KeyFilter) -> str | None:
        """The node's rows before the step, as far as the maintained result has them; None if it
        shows too little of them."""
        ...

    def group_state(self, node: Plan) -> GroupState | None:
        """The partial aggregates kept of the node's groups, from which ``rows`` then answers; None
        if none are kept. Only nodes that have ``partial_aggregates`` may be asked for."""
        ...

    def matches(self, join: Join, side: int, keys: str) -> str | None:
        """For values of the join's keys in the relation ``keys``: the values as columns ``c0`` and
        so on, and in ``was`` and ``now`` whether rows of the input ``side`` have them, before the
        step and after it.

        A value that no row had or has may be missing. None if the engine does not keep the numbers
        of rows.
        """
        ...

    def updates(self, node: Get) -> tuple[EngineRelation, Timestamp]:
        """Where the updates of a collection are that changes, and the time after which they
        count."""
        ...

    def only_adds(self, node: Plan) -> bool:
        """Whether the step is known to take no row away from the node: no ``n`` of its *net*
        changes is negative. Collections show it by the statistics of their updates, operators by
        ``is_monotone``."""
        ...

    def define(self, select: str, *, is_few: bool = False) -> str:
        """A name for the relation that ``select`` is. ``is_few``: its size follows that of the
        change."""
        ...

    def keys(self, *sources: tuple[str, Sequence[int]]) -> str:
        """A name for the different values, as columns ``c0`` and so on, of columns of relations."""
        ...


def carried(step: DeltaStep, alias: str = "") -> str:
    """The columns that changes have after those of the node, in a select list."""
    prefix = f"{alias}." if alias else ""
    return ", ".join(
        f"{prefix}{name} AS {name}" for name in (("n", "t") if step.by_time else ("n",))
    )


@singledispatch
def snapshot(node: Plan, rendering: Rendering, inputs: Sequence[str]) -> str:
    """The node as one SELECT over ``inputs``."""
    raise InternalError(f"no snapshot rule for {type(node).__name__}")


@singledispatch
def delta(node: Plan, step: DeltaStep) -> str:
    """``DeltaStep.changes`` of a node with a changed input, as one SELECT."""
    raise InternalError(f"no delta rule for {type(node).__name__}")


@singledispatch
def has_delta(node: Plan, is_shown: bool) -> bool:
    """Whether the delta rule can be used. ``is_shown``: the maintained result has every column of
    the node."""
    return True


@singledispatch
def is_monotone(node: Plan) -> bool:
    """Whether more input rows never give fewer output rows: for multisets A ⊆ B, node(A) ⊆ node(B).

    A step that takes no row away from the inputs then takes none away from the node. That holds for
    net changes only: the delta rule of a monotone operator may still take a row away and give it
    back. Each operator that is monotone registers that with its proof.
    """
    return False


@singledispatch
def origin(node: Plan, column: int) -> tuple[int | None, ...]:
    """The column of each input that has the values of ``column``: rows of the node with a value
    there are made only of rows of that input with the same value there. None for an input of which
    other rows count too."""
    raise InternalError(f"no origin rule for {type(node).__name__}")


@singledispatch
def matched_columns(node: Plan, side: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Columns of the input ``side`` and as many of the other one, such that rows of the other one
    without an equal row there change nothing. None if every row of the other counts."""
    return None


@singledispatch
def demand(node: Plan, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    """The columns of each input that the node reads to compute its columns ``required``."""
    raise InternalError(f"no demand rule for {type(node).__name__}")


def columns(node: Plan, alias: str = "") -> list[str]:
    """The names of a rendered node's columns."""
    prefix = f"{alias}." if alias else ""
    return [f"{prefix}c{index}" for index in range(len(node.desc))]


def select_list(expressions: Sequence[str]) -> str:
    """``expressions`` as columns ``c0``, ``c1``, …"""
    return (
        ", ".join(e if e == f"c{i}" else f"{e} AS c{i}" for i, e in enumerate(expressions))
        or EMPTY_ROW
    )


def every(node: Any) -> frozenset[int]:
    """All columns of a node."""
    return frozenset(range(len(node.desc)))


def consolidated(select: str, names: Sequence[str]) -> str:
    """The changes in ``select`` with equal rows summed up and rows that do not change left out.

    ``names`` are its columns; one that is a constant instead replaces the column of that place.
    """
    keys = [name for index, name in enumerate(names) if name == f"c{index}"]
    groups = f" GROUP BY {', '.join(keys)}" if keys else ""
    return (
        f"SELECT {select_list(names)}, CAST(sum(n) AS BIGINT) AS n FROM ({select}) AS "
        f"changed{groups} HAVING sum(n) <> 0"
    )


_BARRIERS = {"duckdb": "OFFSET 0", "spark": "WHERE spark_partition_id() >= 0"}


def behind_barrier(engine: str, relation: str) -> str:
    """``relation`` such that no expression above it is evaluated on other rows.

    Engines move conditions below joins, and then evaluate them on rows that a semi-join leaves out,
    or on updates of other times. DuckDB moves nothing below an OFFSET, Spark nothing below a filter
    that is not deterministic.
    """
    return f"(SELECT * FROM {relation} {_BARRIERS[engine]})"


def of_its_rows(engine: str, relation: str, scalars: Iterable[Scalar]) -> str:
    """``relation``, such that no scalar above it that could raise an error is evaluated on other
    rows. Spark would move a condition, also one on a computed column, below the sums of diffs, to
    updates of rows that are deleted."""
    is_moved = engine == "spark" and any(map(could_error, scalars))
    return behind_barrier(engine, relation) if is_moved else relation

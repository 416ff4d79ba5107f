"""The rules of an operator as functions that each operator's file adds to, and what they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from reclock.algebra.timestamps import Timestamp
from reclock.compute.plan import Plan
from reclock.compute.scalars import Scalar
from reclock.errors import InternalError

EMPTY_ROW = "TRUE AS c"
"""The select list of a relation without columns: SQL has none, so its rows are carried by a column nobody reads."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What a collection is called in the engine's session.

    ``is_counted``: it has the columns of updates and must be read at a time; otherwise its rows stand as they are.
    ``is_monotonic``: each of its diffs is positive, so that none takes away what another adds; ``is_single``: each is one.
    """

    name: str
    is_counted: bool
    is_monotonic: bool = False
    is_single: bool = False


@dataclass(frozen=True, slots=True)
class Rendering:
    """For whom a plan is rendered, and at which time. ``relations`` and ``wanted`` are by the identity of a Get."""

    engine: str
    as_of: Timestamp
    relations: Mapping[str, Relation]
    """By the collection's id as text."""
    wanted: Mapping[int, frozenset[int]]
    """The columns that the plan reads of a node, by ``id(node)``."""
    kept: Mapping[int, Sequence[Scalar]]
    """Of a Get, by ``id(node)``: what is true of every row that anything reads. Rows without it may be left out, or not."""


@singledispatch
def snapshot(node: Plan, rendering: Rendering, inputs: Sequence[str]) -> str:
    """The node as one SELECT over ``inputs``."""
    raise InternalError(f"no snapshot rule for {type(node).__name__}")


@singledispatch
def demand(node: Plan, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    """The columns of each input that the node reads to answer ``wanted``."""
    raise InternalError(f"no demand rule for {type(node).__name__}")


def columns(node: Plan, alias: str = "") -> list[str]:
    """The names a rendered node gives to its columns."""
    prefix = f"{alias}." if alias else ""
    return [f"{prefix}c{index}" for index in range(len(node.desc))]


def select_list(expressions: Sequence[str]) -> str:
    """``expressions`` as columns ``c0``, ``c1``, …"""
    return ", ".join(e if e == f"c{i}" else f"{e} AS c{i}" for i, e in enumerate(expressions)) or EMPTY_ROW


def every(node: Any) -> frozenset[int]:
    """All columns of a node."""
    return frozenset(range(len(node.desc)))

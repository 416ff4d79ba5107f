"""What a session keeps from one statement to the next: prepared statements and cursors, and the statements about them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.session.prepared import Prepared, describe
from reclock.algebra.relations import INTERVAL, RelationDesc, ScalarType
from reclock.errors import (
    DuplicateCursor,
    DuplicatePrepared,
    NoTransaction,
    TypeMismatch,
    UnknownCursor,
    UnknownPrepared,
    UnsupportedSql,
    WrongNumberOfParameters,
)
from reclock.plan.scalars import Literal
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.queries.coercion import coerce, scalar_type
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.literals import parse_text
from reclock.sql.queries.rewrite import Untyped
from reclock.sql.queries.scope import Scope
from reclock.sql.statements.session.prepared_syntax import (
    CloseStatement,
    DeallocateStatement,
    DeclareStatement,
    DiscardStatement,
    ExecuteStatement,
    FetchStatement,
    PrepareStatement,
    UnlistenStatement,
)
from reclock.sql.syntax.parse import ParsedStatement

KINDS = (
    PrepareStatement,
    ExecuteStatement,
    DeallocateStatement,
    DeclareStatement,
    FetchStatement,
    CloseStatement,
    DiscardStatement,
    UnlistenStatement,
)


class Statements(Protocol):
    """The session, as far as this needs it."""

    @property
    def in_block(self) -> bool: ...
    def execute_prepared(self, prepared: Prepared, values: Sequence[Any] = ()) -> Any: ...
    def discard(self) -> None: ...
    def discard_temporary(self) -> None: ...


class Cursor:
    """The rows of a query that are not fetched yet."""

    def __init__(self, desc: RelationDesc, result: Result, *, is_held: bool) -> None:
        self.desc, self.is_held = desc, is_held
        self._result = result
        self._batches: Iterator[pa.RecordBatch] = iter(result.batches)
        # Begun at once: only rows that were begun give their read hold back when they are closed.
        self._left: pa.RecordBatch | None = next(self._batches, None)

    def fetch(self, count: int | None, timeout: timedelta | None = None) -> list[pa.RecordBatch]:
        """The next rows, at most ``count``. Raises what computing them raises.

        Those of a subscription that are known: without any, the first is waited for, at most for ``timeout``.
        """
        found: list[pa.RecordBatch] = []
        wanted = count
        deadline = time.monotonic() + timeout.total_seconds() if timeout is not None else math.inf
        while wanted is None or wanted > 0:
            batch = self._left if self._left is not None else next(self._batches, None)
            self._left = None
            if batch is None:
                break
            if self._result.is_live and not batch.num_rows:
                if found or time.monotonic() >= deadline:
                    break
                continue
            taken = batch if wanted is None else batch.slice(0, wanted)
            if taken.num_rows < batch.num_rows:
                self._left = batch.slice(taken.num_rows)
            wanted = None if wanted is None else wanted - taken.num_rows
            found.append(taken)
        return found

    def close(self) -> None:
        self._result.close()


@dataclass(slots=True)
class Kept:
    """By name. The protocol's own prepared statements are here too, so that ``DEALLOCATE`` reaches them."""

    prepared: dict[str, Prepared] = field(default_factory=dict)
    cursors: dict[str, Cursor] = field(default_factory=dict)

    def describe(
        self, parsed: ParsedStatement, types: Sequence[ScalarType | None], catalog: PlannerCatalog, names: SessionNames, name: str
    ) -> Prepared:
        """As ``prepared.describe``, of a statement about what is kept too."""
        match parsed.node:
            case ExecuteStatement() as node:
                return Prepared(parsed, (), self.statement(fold(node.this)).desc, name)
            case FetchStatement() as node:
                return Prepared(parsed, (), self.cursor(fold(node.this)).desc, name)
            case DeclareStatement() as node:
                inner = describe(replace(parsed, node=node.args["query"]), types, catalog, names)
                return Prepared(parsed, inner.parameter_types, None, name)
            case _:
                return describe(parsed, types, catalog, names, name)

    def shown_prepared(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Name, text and types of parameters of each that has a name."""
        found = [(name, prepared) for name, prepared in list(self.prepared.items()) if name and prepared.parsed is not None]
        return [(name, each.parsed.text if each.parsed else "", tuple(map(str, each.parameter_types))) for name, each in found]

    def shown_cursors(self) -> list[tuple[str, bool]]:
        return [(name, cursor.is_held) for name, cursor in list(self.cursors.items())]

    def statement(self, name: str) -> Prepared:
        if name not in self.prepared:
            raise UnknownPrepared(name)
        return self.prepared[name]

    def cursor(self, name: str) -> Cursor:
        if name not in self.cursors:
            raise UnknownCursor("cursor", name)
        return self.cursors[name]

    def keep(self, prepared: Prepared) -> None:
        """The unnamed one is replaced, others are not. Raises ``DuplicatePrepared``."""
        if prepared.name and prepared.name in self.prepared:
            raise DuplicatePrepared(prepared.name)
        self.prepared[prepared.name] = prepared

    def end_transaction(self) -> None:
        """Cursors are of their transaction unless they are held."""
        for name in [name for name, cursor in self.cursors.items() if not cursor.is_held]:
            self.cursors.pop(name).close()

    def execute(
        self, parsed: ParsedStatement, parameters: Parameters, session: Statements, catalog: PlannerCatalog, names: SessionNames
    ) -> Result:
        """Raises ``UnknownPrepared``, ``DuplicatePrepared``, ``UnknownCursor``, ``DuplicateCursor``, and what it executes."""
        match parsed.node:
            case PrepareStatement() as node:
                types = [scalar_type(each) for each in node.args.get("types") or ()]
                self.keep(describe(replace(parsed, node=node.args["statement"]), types, catalog, names, fold(node.this)))
                return Result("PREPARE")
            case ExecuteStatement() as node:
                prepared = self.statement(fold(node.this))
                answer: Result = session.execute_prepared(prepared, _values(node, prepared))
                return answer
            case DeallocateStatement() as node if node.this is None:
                self.prepared.clear()
                return Result("DEALLOCATE ALL")
            case DeallocateStatement() as node:
                del self.prepared[self.statement(fold(node.this)).name]
                return Result("DEALLOCATE")
            case DeclareStatement() as node:
                return self._declare(node, parsed, parameters, session, catalog, names)
            case FetchStatement() as node:
                cursor, count = self.cursor(fold(node.this)), node.args.get("count")
                timeout = node.args.get("timeout")
                limit = parse_text(timeout.name, INTERVAL) if timeout is not None else None
                return Result("FETCH", cursor.desc, cursor.fetch(int(count.name) if count is not None else None, limit))
            case CloseStatement() as node if node.this is None:
                self.close()
                return Result("CLOSE CURSOR ALL")
            case CloseStatement() as node:
                self.cursor(fold(node.this)).close()
                del self.cursors[fold(node.this)]
                return Result("CLOSE CURSOR")
            case DiscardStatement() as node:
                if node.args["kind"] == "ALL":
                    self.close()
                    self.prepared.clear()
                    session.discard()
                elif node.args["kind"] in ("TEMP", "TEMPORARY"):
                    session.discard_temporary()
                return Result(f"DISCARD {node.args['kind']}")
            case UnlistenStatement():
                return Result("UNLISTEN")
        raise UnsupportedSql(f"{type(parsed.node).__name__} is not about what a session keeps")

    def close(self) -> None:
        for cursor in self.cursors.values():
            cursor.close()
        self.cursors.clear()

    def _declare(
        self,
        node: DeclareStatement,
        parsed: ParsedStatement,
        parameters: Parameters,
        session: Statements,
        catalog: PlannerCatalog,
        names: SessionNames,
    ) -> Result:
        name, is_held = fold(node.this), bool(node.args.get("is_held"))
        if name in self.cursors:
            raise DuplicateCursor("cursor", name)
        if not is_held and not session.in_block:
            raise NoTransaction("DECLARE CURSOR")
        query = describe(replace(parsed, node=node.args["query"]), parameters.types, catalog, names)
        assert query.desc is not None
        self.cursors[name] = Cursor(query.desc, session.execute_prepared(query, parameters.values or ()), is_held=is_held)
        return Result("DECLARE CURSOR")


def _values(node: ExecuteStatement, prepared: Prepared) -> list[Any]:
    """Constants, each as a value of its parameter's type."""
    given = node.args.get("values") or []
    if len(given) != len(prepared.parameter_types):
        raise WrongNumberOfParameters(prepared.name, given=len(given), wanted=len(prepared.parameter_types))
    values = []
    for each, type in zip(given, prepared.parameter_types, strict=True):
        found = scalar(each, ExprContext(Scope(), NoSubqueries(NO_PARAMETERS), "EXECUTE"))
        value = found if isinstance(found, Untyped) and found.text is None else coerce(found, type)
        if not isinstance(value, Literal | Untyped):
            raise TypeMismatch("EXECUTE takes constants", hint="write each value with its type")
        values.append(value.value if isinstance(value, Literal) else None)
    return values

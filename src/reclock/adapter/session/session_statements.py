"""Statements about prepared statements and cursors. They are executed from their syntax, without a
plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.context.registry import Registry
from reclock.adapter.context.results import Result
from reclock.adapter.context.sequences import SessionSequences
from reclock.adapter.context.texts import texts
from reclock.adapter.session.cursors import Cursor, Cursors
from reclock.adapter.session.prepared import PreparedStatement, PreparedStatements, describe
from reclock.adapter.statement_context import Answer
from reclock.algebra.interval_reading import interval_of
from reclock.algebra.relations import ScalarType, TypeName
from reclock.errors import NoTransaction, TypeMismatch, UnsupportedSql, WrongNumberOfValues
from reclock.plan.scalars import Literal
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import types_of
from reclock.sql.names import SessionNames, fold
from reclock.sql.parameters import Parameters
from reclock.sql.queries.assignment import is_assignable
from reclock.sql.queries.coercion import cast, coerce
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.planned import Untyped
from reclock.sql.queries.query import new_context
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.type_names import scalar_type
from reclock.sql.session_zone import planned_in
from reclock.sql.statements.session.prepared_syntax import (
    CloseStatement,
    DeallocateStatement,
    DeclareStatement,
    DiscardStatement,
    ExecuteStatement,
    FetchStatement,
    MoveStatement,
    PrepareStatement,
    UnlistenStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import ParsedStatement, parse


class SupportsPrepared(Protocol):
    """The parts of a session that these statements use."""

    @property
    def in_block(self) -> bool: ...
    def execute_prepared(
        self, prepared: PreparedStatement, values: Sequence[Any] = ()
    ) -> Answer: ...
    def discard(self) -> None: ...
    def discard_temporary(self) -> None: ...
    @property
    def sequences(self) -> SessionSequences: ...
    @property
    def cancellation(self) -> Cancellation: ...


@dataclass(frozen=True, slots=True)
class SessionCall:
    """A statement about the session, with the session that executes it."""

    parsed: ParsedStatement
    parameters: Parameters
    session: SupportsPrepared
    catalog: PlannerCatalog
    names: SessionNames
    prepared: PreparedStatements
    cursors: Cursors

    def describe(
        self, node: nodes.Statement, types: Sequence[ScalarType | None], name: str = ""
    ) -> PreparedStatement:
        """A statement inside the statement."""
        parsed = replace(self.parsed, node=node)
        with self.session.cancellation.in_planning():
            return describe(parsed, types, self.catalog, self.names, name)


executes_syntax: Registry[Callable[[Any, SessionCall], Answer]] = Registry(
    "an execution in the session"
)


@dataclass(slots=True)
class SessionStatements:
    """The prepared statements and the cursors of a session, and the execution of statements about
    them."""

    prepared: PreparedStatements = field(default_factory=PreparedStatements)
    cursors: Cursors = field(default_factory=Cursors)

    def describe(
        self,
        parsed: ParsedStatement,
        types: Sequence[ScalarType | None],
        catalog: PlannerCatalog,
        names: SessionNames,
        name: str,
    ) -> PreparedStatement:
        """Like ``prepared.describe``, also for statements about prepared statements and cursors."""
        match parsed.node:
            case ExecuteStatement() as node:
                return PreparedStatement(parsed, (), self.prepared.get(fold(node.this)).desc, name)
            case FetchStatement() as node:
                return PreparedStatement(parsed, (), self.cursors.get(fold(node.this)).desc, name)
            case DeclareStatement() as node:
                query = describe(replace(parsed, node=node.args["query"]), types, catalog, names)
                return PreparedStatement(parsed, query.parameter_types, None, name)
            case _:
                return describe(parsed, types, catalog, names, name)

    def execute(
        self,
        parsed: ParsedStatement,
        parameters: Parameters,
        session: SupportsPrepared,
        catalog: PlannerCatalog,
        names: SessionNames,
    ) -> Answer:
        """The answer of the statement. Raises ``UnknownPrepared``, ``DuplicatePrepared``,
        ``UnknownCursor``, ``DuplicateCursor``, and what it executes."""
        call = SessionCall(parsed, parameters, session, catalog, names, self.prepared, self.cursors)
        return executes_syntax[type(parsed.node)](parsed.node, call)


@executes_syntax(PrepareStatement)
def _(node: PrepareStatement, call: SessionCall) -> Result:
    with types_of(call.catalog, call.names):
        types = [scalar_type(type) for type in node.args.get("types") or ()]
    call.prepared.add(call.describe(node.args["statement"], types, fold(node.this)))
    return Result("PREPARE")


@executes_syntax(ExecuteStatement)
def _(node: ExecuteStatement, call: SessionCall) -> Answer:
    prepared = call.prepared.get(fold(node.this))
    return call.session.execute_prepared(prepared, _values(node, prepared, call))


@executes_syntax(DeallocateStatement)
def _(node: DeallocateStatement, call: SessionCall) -> Result:
    if node.this is None:
        call.prepared.clear()
        return Result("DEALLOCATE ALL")
    call.prepared.discard(call.prepared.get(fold(node.this)).name)
    return Result("DEALLOCATE")


@executes_syntax(DeclareStatement)
def _(node: DeclareStatement, call: SessionCall) -> Result:
    name, is_held = fold(node.this), bool(node.args.get("is_held"))
    call.cursors.check_unused(name)
    if not is_held and not call.session.in_block:
        raise NoTransaction("DECLARE CURSOR")
    query = call.describe(node.args["query"], call.parameters.types)
    assert query.desc is not None
    result = call.session.execute_prepared(query, call.parameters.values or ())
    assert isinstance(result, Result)
    is_scrollable = bool(node.args.get("is_scrollable"))
    call.cursors.open(
        name, Cursor(query.desc, result, is_held=is_held, is_scrollable=is_scrollable)
    )
    return Result("DECLARE CURSOR")


@executes_syntax(FetchStatement)
def _(node: FetchStatement, call: SessionCall) -> Result:
    timeout = node.args.get("timeout")
    limit = None
    if timeout is not None:
        limit = timedelta(microseconds=interval_of(timeout.name.strip()).span_us)
    desc = call.cursors.get(fold(node.this)).desc
    return Result("FETCH", desc, _moved(node, call, limit))


@executes_syntax(MoveStatement)
def _(node: MoveStatement, call: SessionCall) -> Result:
    return Result(f"MOVE {sum(batch.num_rows for batch in _moved(node, call))}")


def _moved(
    node: FetchStatement | MoveStatement, call: SessionCall, timeout: timedelta | None = None
) -> list[pa.RecordBatch]:
    """The rows that the cursor passes. Raises as ``Cursor.fetch``."""
    count = node.args.get("count")
    return call.cursors.get(fold(node.this)).fetch(
        node.args["direction"], int(count.name) if count is not None else None, timeout
    )


@executes_syntax(CloseStatement)
def _(node: CloseStatement, call: SessionCall) -> Result:
    if node.this is None:
        call.cursors.close_all()
        return Result("CLOSE CURSOR ALL")
    call.cursors.close(fold(node.this))
    return Result("CLOSE CURSOR")


@executes_syntax(DiscardStatement)
def _(node: DiscardStatement, call: SessionCall) -> Result:
    if node.args["kind"] == "ALL":
        call.cursors.close_all()
        call.prepared.clear()
        call.session.discard()
    elif node.args["kind"] in ("TEMP", "TEMPORARY"):
        call.session.discard_temporary()
    elif node.args["kind"] == "SEQUENCES":
        call.session.sequences.forget()
    return Result(f"DISCARD {node.args['kind']}")


@executes_syntax(UnlistenStatement)
def _(node: UnlistenStatement, call: SessionCall) -> Result:
    return Result("UNLISTEN")


def _values(node: ExecuteStatement, prepared: PreparedStatement, call: SessionCall) -> list[Any]:
    """The values of EXECUTE, each of its parameter's type."""
    expressions = node.args.get("values") or []
    if len(expressions) != len(prepared.parameter_types):
        raise WrongNumberOfValues(
            prepared.name, supplied=len(expressions), expected=len(prepared.parameter_types)
        )
    return [
        _value(number, expression, type, call)
        for number, (expression, type) in enumerate(
            zip(expressions, prepared.parameter_types, strict=True), 1
        )
    ]


def _value(number: int, expression: exp.Expr, type: ScalarType, call: SessionCall) -> Any:
    if expression.find(exp.Query):
        raise UnsupportedSql("cannot use subquery in EXECUTE parameter")
    subqueries = SubqueryPlanner(new_context(call.catalog, call.names))
    with planned_in(call.names.zone, call.names.now):
        planned = scalar(expression, ExprContext(Scope(), subqueries, "EXECUTE"))
    if isinstance(planned, Untyped) and planned.text is None:
        return None
    if planned.type is not None and not is_assignable(planned.type, type):
        raise TypeMismatch(
            f"parameter ${number} of type {planned.type} cannot be coerced to the expected type {type}",
            hint="You will need to rewrite or cast the expression.",
        )
    convert = cast if type.name is TypeName.ARRAY else coerce  # a cast keeps dimensions
    with planned_in(call.names.zone, call.names.now):
        value = convert(planned, type)
    if not isinstance(value, Literal):
        value = convert(Untyped(_computed_text(expression, type, call)), type)
    assert isinstance(value, Literal)
    return value.value


def _computed_text(expression: exp.Expr, type: ScalarType, call: SessionCall) -> str | None:
    """The value of the expression, cast to ``type``, as text. A query computes it."""
    [query] = parse(f"SELECT CAST({to_sql(expression)} AS {type})")
    with call.session.cancellation.in_planning():
        prepared = describe(query, (), call.catalog, call.names)
    result = call.session.execute_prepared(prepared)
    assert isinstance(result, Result)
    assert result.desc is not None
    [type] = result.desc.types
    [text] = [text for batch in result.batches for text in texts(batch.column(0), type).to_pylist()]
    return text  # type: ignore[no-any-return]

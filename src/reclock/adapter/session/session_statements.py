"""Statements about what the session holds: prepared statements and cursors. They are executed by
their syntax, without a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol

from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.context.registry import Registry
from reclock.adapter.context.results import Result
from reclock.adapter.context.sequences import SessionSequences
from reclock.adapter.session.cursors import Cursor, Cursors
from reclock.adapter.session.prepared import PreparedStatement, PreparedStatements, describe
from reclock.adapter.statement_context import Answer
from reclock.algebra.interval_reading import interval_of
from reclock.algebra.relations import ScalarType
from reclock.errors import NoTransaction, TypeMismatch, WrongNumberOfParameters
from reclock.plan.scalars import Literal
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.queries.coercion import coerce, scalar_type
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.planned import Untyped
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
from reclock.sql.syntax import nodes
from reclock.sql.syntax.parse import ParsedStatement


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
    types = [scalar_type(type) for type in node.args.get("types") or ()]
    call.prepared.add(call.describe(node.args["statement"], types, fold(node.this)))
    return Result("PREPARE")


@executes_syntax(ExecuteStatement)
def _(node: ExecuteStatement, call: SessionCall) -> Answer:
    prepared = call.prepared.get(fold(node.this))
    return call.session.execute_prepared(prepared, _values(node, prepared))


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
    call.cursors.open(name, Cursor(query.desc, result, is_held=is_held))
    return Result("DECLARE CURSOR")


@executes_syntax(FetchStatement)
def _(node: FetchStatement, call: SessionCall) -> Result:
    cursor = call.cursors.get(fold(node.this))
    count = node.args.get("count")
    timeout = node.args.get("timeout")
    limit = None
    if timeout is not None:
        limit = timedelta(microseconds=interval_of(timeout.name.strip()).span_us)
    return Result(
        "FETCH", cursor.desc, cursor.fetch(int(count.name) if count is not None else None, limit)
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


def _values(node: ExecuteStatement, prepared: PreparedStatement) -> list[Any]:
    """The constants of EXECUTE, each as a value of its parameter's type."""
    expressions = node.args.get("values") or []
    if len(expressions) != len(prepared.parameter_types):
        raise WrongNumberOfParameters(
            prepared.name, given=len(expressions), wanted=len(prepared.parameter_types)
        )
    values = []
    for expression, type in zip(expressions, prepared.parameter_types, strict=True):
        constant = scalar(expression, ExprContext(Scope(), NoSubqueries(NO_PARAMETERS), "EXECUTE"))
        value = (
            constant
            if isinstance(constant, Untyped) and constant.text is None
            else coerce(constant, type)
        )
        if not isinstance(value, Literal | Untyped):
            raise TypeMismatch("EXECUTE takes constants", hint="write each value with its type")
        values.append(value.value if isinstance(value, Literal) else None)
    return values

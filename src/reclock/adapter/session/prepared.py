"""Prepared statements: parsed once, and planned at each execution, with the values of parameters as
constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

from reclock.adapter.context.results import result_desc
from reclock.adapter.planning.plan_cache import description_key, store, watched
from reclock.algebra.object_ids import type_oid
from reclock.algebra.relations import RelationDesc, ScalarType
from reclock.errors import (
    CachedPlanChanged,
    DuplicatePrepared,
    SqlSyntaxError,
    UnknownPrepared,
    WrongNumberOfParameters,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.planning.statement import plan_statement, returns_rows
from reclock.sql.statements.tables.modify_syntax import InsertStatement
from reclock.sql.syntax.parse import ParsedStatement, parse

_Description = tuple[tuple[ScalarType, ...], RelationDesc | None]
"""The types of a statement's parameters, and its columns."""


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """One statement, or none at all (``parsed`` is None). ``desc`` are its columns if it answers
    rows."""

    parsed: ParsedStatement | None
    parameter_types: tuple[ScalarType, ...] = ()
    desc: RelationDesc | None = None
    name: str = ""
    declared_oids: tuple[int, ...] = ()
    """The object ids of the types that the client declared; 0 means that the type is inferred."""

    @property
    def is_insert(self) -> bool:
        """Whether it is an INSERT that answers no rows."""
        return (
            self.desc is None
            and self.parsed is not None
            and isinstance(self.parsed.node, InsertStatement)
        )

    @property
    def parameter_oids(self) -> tuple[int, ...]:
        """The object ids of the parameter types, for the client: the types that it declared, and the
        inferred types of the others.

        A client refuses a statement that changes a type it declared, even where Reclock stores that
        type as another.
        """
        declared = chain(self.declared_oids, repeat(0))
        return tuple(
            oid or type_oid(type) for oid, type in zip(declared, self.parameter_types, strict=False)
        )

    def bound(self, values: Sequence[Any]) -> Parameters:
        """The parameters with these values, each of its parameter's type. Raises
        ``WrongNumberOfParameters``."""
        self.check_count(len(values))
        return (
            Parameters(list(self.parameter_types), values, is_open=False)
            if values
            else NO_PARAMETERS
        )

    def check_count(self, count: int) -> None:
        """Raises ``WrongNumberOfParameters`` unless the statement has so many parameters."""
        if count != len(self.parameter_types):
            raise WrongNumberOfParameters(
                self.name, supplied=count, expected=len(self.parameter_types)
            )

    def check_unchanged(self, desc: RelationDesc | None) -> None:
        """Raises ``CachedPlanChanged`` if the statement now answers other columns than when it was
        prepared."""
        if self.desc is not None and (
            desc is None or list(map(type_oid, desc.types)) != list(map(type_oid, self.desc.types))
        ):
            raise CachedPlanChanged


@dataclass(frozen=True, slots=True)
class RepeatedInsert:
    """``count`` executions of a prepared INSERT; ``columns`` holds the values of each parameter in
    all of them."""

    prepared: PreparedStatement
    columns: Sequence[Sequence[Any]]
    count: int


class PreparedStatements:
    """The prepared statements of a session, by name, including those of the wire protocol."""

    def __init__(self) -> None:
        self._statements: dict[str, PreparedStatement] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._statements

    def get(self, name: str) -> PreparedStatement:
        """The statement of that name. Raises ``UnknownPrepared``."""
        if name not in self._statements:
            raise UnknownPrepared(name)
        return self._statements[name]

    def add(self, prepared: PreparedStatement) -> None:
        """Replaces the unnamed statement. Raises ``DuplicatePrepared`` for another name that is
        taken."""
        if prepared.name and prepared.name in self._statements:
            raise DuplicatePrepared(prepared.name)
        self._statements[prepared.name] = prepared

    def discard(self, name: str) -> None:
        """Remove the statement if it exists."""
        self._statements.pop(name, None)

    def clear(self) -> None:
        self._statements.clear()

    def listing(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Name, text and parameter types of each statement that has a name."""
        return [
            (name, prepared.parsed.text, tuple(map(str, prepared.parameter_types)))
            for name, prepared in list(self._statements.items())
            if name and prepared.parsed is not None
        ]


def prepare(
    text: str,
    types: Sequence[ScalarType | None],
    catalog: PlannerCatalog,
    names: SessionNames,
    name: str,
    describe: Callable[..., PreparedStatement],
) -> PreparedStatement:
    """The only statement of ``text``, described by ``describe``. None in ``types`` leaves a
    parameter's type to the context.

    Definitions are not planned before they are executed. Raises what parsing and planning raise.
    """
    statements = parse(text)
    if not statements:
        return PreparedStatement(None, name=name)
    if len(statements) > 1:
        raise SqlSyntaxError(
            "cannot insert multiple commands into a prepared statement",
            position=statements[1].position,
        )
    return describe(statements[0], types, catalog, names, name)


def describe(
    parsed: ParsedStatement,
    types: Sequence[ScalarType | None],
    catalog: PlannerCatalog,
    names: SessionNames,
    name: str = "",
) -> PreparedStatement:
    """Like ``prepare``, for a statement that is parsed already. Clients that prepare a statement
    again before each execution get the same description until the catalog changes."""
    if not returns_rows(parsed.node):
        return PreparedStatement(parsed, name=name)
    key = description_key(parsed, names, types)
    described: _Description | None = catalog.planned.get(key) if key is not None else None
    if described is None:
        watched_names, has_read_session = watched(names)
        parameters = Parameters(list(types))
        statement = plan_statement(parsed, catalog, replace(watched_names, parameters=parameters))
        described = parameters.settled(), result_desc(statement)
        if key is not None and not has_read_session():
            store(catalog, key, described)
    parameter_types, desc = described
    return PreparedStatement(parsed, parameter_types, desc, name)

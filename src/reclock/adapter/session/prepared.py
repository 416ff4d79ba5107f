"""Prepared statements: parsed once, planned at each execution at the catalog as it is then, with the values as constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

from reclock.adapter.context.results import result_desc
from reclock.algebra.object_ids import type_oid
from reclock.algebra.relations import RelationDesc, ScalarType
from reclock.errors import SqlSyntaxError, UnsupportedSql, WrongNumberOfParameters
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.planning.statement import plan_statement, returns_rows
from reclock.sql.syntax.parse import ParsedStatement, parse


@dataclass(frozen=True, slots=True)
class Prepared:
    """One statement, or none at all (``parsed`` is None). ``desc`` are its columns if it answers rows."""

    parsed: ParsedStatement | None
    parameter_types: tuple[ScalarType, ...] = ()
    desc: RelationDesc | None = None
    name: str = ""
    declared_oids: tuple[int, ...] = ()
    """The types that the client declared, by number; 0 leaves one to the context."""

    @property
    def parameter_oids(self) -> tuple[int, ...]:
        """What a client is told: the type it declared, though it may be one that Reclock holds as another, and the
        inferred type of the others. Clients refuse a statement that changes a type they declared."""
        declared = chain(self.declared_oids, repeat(0))
        return tuple(oid or type_oid(type) for oid, type in zip(declared, self.parameter_types, strict=False))

    def bound(self, values: Sequence[Any]) -> Parameters:
        """The parameters with these values, each of its parameter's type. Raises ``WrongNumberOfParameters``."""
        self.check_count(len(values))
        return Parameters(list(self.parameter_types), values, is_open=False) if values else NO_PARAMETERS

    def check_count(self, given: int) -> None:
        """Raises ``WrongNumberOfParameters``."""
        if given != len(self.parameter_types):
            raise WrongNumberOfParameters(self.name, given=given, wanted=len(self.parameter_types))

    def check_unchanged(self, desc: RelationDesc | None) -> None:
        """Raises ``UnsupportedSql`` if the catalog has changed so that the statement answers other columns than it did."""
        if self.desc is not None and (
            desc is None or [type.name for type in desc.types] != [type.name for type in self.desc.types]
        ):
            raise UnsupportedSql("cached plan must not change result type", hint="prepare the statement again")


def prepare(
    text: str,
    types: Sequence[ScalarType | None],
    catalog: PlannerCatalog,
    names: SessionNames,
    name: str,
    describe: Callable[..., Prepared],
) -> Prepared:
    """The only statement of ``text``, as ``describe`` has it. Parameters have ``types``, or those their places ask for.

    Statements that define something are not looked at before they are executed. Raises what parsing and planning raise.
    """
    statements = parse(text)
    if not statements:
        return Prepared(None, name=name)
    if len(statements) > 1:
        raise SqlSyntaxError("cannot insert multiple commands into a prepared statement", position=statements[1].position)
    return describe(statements[0], types, catalog, names, name)


def describe(
    parsed: ParsedStatement, types: Sequence[ScalarType | None], catalog: PlannerCatalog, names: SessionNames, name: str = ""
) -> Prepared:
    """As ``prepare``, of a statement that is parsed."""
    if not returns_rows(parsed.node):
        return Prepared(parsed, name=name)
    parameters = Parameters(list(types))
    statement = plan_statement(parsed, catalog, replace(names, parameters=parameters))
    return Prepared(parsed, parameters.settled(), result_desc(statement), name)

"""The definitions of sources, sinks, functions and tables, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import (
    Column,
    MomentLimit,
    RelationDesc,
    ScalarType,
    TextLimit,
)
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.formats import Format
from reclock.definitions.sinks import Target as SinkTarget
from reclock.definitions.sources import Upstream
from reclock.sql.catalog.constraints import Constraint, ConstraintKind


@dataclass(frozen=True, slots=True)
class SourceDefinition:
    """The upstream that CREATE SOURCE describes. ``subsources`` are its tables, if it is not a
    single relation. ``depends_on`` are the connections that it uses."""

    desc: RelationDesc
    connector: Upstream
    format: Format | None
    subsources: Mapping[str, RelationDesc] = field(default_factory=dict)
    depends_on: frozenset[GlobalId] = frozenset()
    start: Timestamp | None = None
    """The beginning of its history, if it has a backfill."""
    retain_ms: int | None = None
    """Its own retention, if it has one."""
    host: GlobalId | None = None
    """The source in whose frontier group it is a guest."""
    checks: tuple[Constraint, ...] = ()
    """Its CHECK constraints, which the audit of each step evaluates on all new rows."""
    reject_limit: int = 0
    """How many records of a step that do not decode are given up without a decision."""

    @property
    def progress_desc(self) -> RelationDesc:
        """The columns of its progress relation."""
        return self.connector.reclocking.progress_desc


@dataclass(frozen=True, slots=True)
class Continued:
    """The sink whose id the target knows. Until the sink has switched, the target holds the rows of
    the relation ``previous``, as the sink ``replaced`` wrote them."""

    creator: GlobalId
    replaced: GlobalId | None = None
    previous: GlobalId | None = None


@dataclass(frozen=True, slots=True)
class SinkDefinition:
    """The target that CREATE SINK describes. ``with_snapshot``: it begins with the existing rows,
    not with their first change. ``uses`` are its connections. A sink that ALTER SINK made
    ``continues`` another one.
    """

    target: SinkTarget
    with_snapshot: bool = True
    uses: frozenset[GlobalId] = frozenset()
    continues: Continued | None = None


@dataclass(frozen=True, slots=True)
class SequenceDefinition:
    """The definition of a sequence. ``owner`` is the column that owns it: the parts of the table's
    full name, and the name of the column."""

    type: ScalarType
    start: int
    increment: int
    minimum: int
    maximum: int
    cache: int = 1
    is_cyclic: bool = False
    owner: tuple[tuple[str, ...], str] | None = None


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A column whose default is the next value of a sequence, named by its parts. ``identity`` is
    ``ALWAYS`` or ``BY DEFAULT``, and None for a default that calls ``nextval``."""

    sequence: tuple[str, ...]
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """A parameter of a function. Its name is empty if it has none; ``default`` is syntax, or
    None."""

    name: str
    type: ScalarType
    default: Any = None


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """The definition of a function: ``body`` is a query, as syntax, over the columns of a relation
    with the function's name. Such a column is a parameter, by its name and as ``$1``, ….

    ``columns`` are what it returns. It returns any number of rows if it ``is_set``, and these are
    records if it ``has_records``. A function that ``is_strict`` has no value for a NULL.
    """

    name: str
    parameters: tuple[FunctionParameter, ...]
    columns: tuple[Column, ...]
    body: Any
    is_set: bool = False
    has_records: bool = False
    is_strict: bool = False
    volatility: str = "VOLATILE"

    @property
    def types(self) -> tuple[ScalarType, ...]:
        """The types of the parameters."""
        return tuple(parameter.type for parameter in self.parameters)

    @property
    def required(self) -> int:
        """How many arguments a call needs: the remaining ones have defaults."""
        return sum(parameter.default is None for parameter in self.parameters)


@dataclass(frozen=True, slots=True)
class DomainCheck:
    """A CHECK of a domain. ``condition`` is syntax, in which the column ``value`` is the value."""

    name: str
    condition: exp.Expr
    is_valid: bool = True
    """Whether the values that were stored before the constraint were checked."""
    comment: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DomainDefinition:
    """The definition of a domain: ``type``, which names it, and the ``limit`` of its base type.

    ``base`` is the name of the base type and ``default`` an expression, or None, as syntax. A domain
    over another has that one as ``parent``.
    """

    type: ScalarType
    limit: TextLimit | MomentLimit | None
    base: exp.Expr
    default: exp.Expr | None
    is_not_null: bool
    checks: tuple[DomainCheck, ...]
    parent: DomainDefinition | None = None

    @property
    def lineage(self) -> tuple[DomainDefinition, ...]:
        """The domains that it is over, then the domain itself."""
        return (*(self.parent.lineage if self.parent is not None else ()), self)

    @property
    def is_constrained(self) -> bool:
        """Whether it, or one that it is over, has a constraint."""
        return any(domain.is_not_null or domain.checks for domain in self.lineage)

    @property
    def value_type(self) -> exp.Expr:
        """The name of the type of its values, which is no domain, as syntax."""
        return self.lineage[0].base

    @property
    def inherited_default(self) -> exp.Expr | None:
        """The default of the domain, or else of the one that it is over."""
        if self.default is not None or self.parent is None:
            return self.default
        return self.parent.inherited_default


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """The definition of a table. ``defaults`` are the expressions of DEFAULT, or None, as syntax;
    ``generated`` are the columns that take their default from a sequence, by position, and
    ``computed`` the expressions of those that are computed from other columns.

    A plan may rest only on those ``constraints`` that are enforced.
    """

    desc: RelationDesc
    defaults: tuple[Any, ...]
    constraints: tuple[Constraint, ...] = ()
    generated: Mapping[int, GeneratedColumn] = field(default_factory=dict)
    computed: Mapping[int, exp.Expr] = field(default_factory=dict)
    domain_defaults: Mapping[int, exp.Expr] = field(default_factory=dict)
    """The defaults of the domains that columns have, by position."""

    def default(self, position: int) -> exp.Expr | None:
        """The default of a column, or else of its domain, as syntax; None if there is none."""
        declared: exp.Expr | None = self.defaults[position]
        return self.domain_defaults.get(position) if declared is None else declared

    def is_generated_always(self, position: int) -> bool:
        """Whether statements may set the column to DEFAULT only."""
        sequence = self.generated.get(position)
        is_always = sequence is not None and sequence.identity == "ALWAYS"
        return is_always or position in self.computed

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key; none without one."""
        return next((constraint.columns for constraint in self._primary_keys), ())

    @property
    def primary_key_is_enforced(self) -> bool:
        return any(constraint.is_enforced for constraint in self._primary_keys)

    @property
    def _primary_keys(self) -> list[Constraint]:
        return [c for c in self.constraints if c.kind is ConstraintKind.PRIMARY_KEY]

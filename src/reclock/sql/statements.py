"""Planned statements: values that say all there is to do, with every name resolved. Executing them needs no text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import Envelope
from reclock.definitions.sinks import Target as SinkTarget
from reclock.definitions.sources import Format, Upstream
from reclock.plan.relational import Finishing, Ordering, Plan
from reclock.sql.cluster_statements import ClusterStatement
from reclock.sql.connection_statements import ConnectionStatement
from reclock.sql.constraints import Constraint, ConstraintKind
from reclock.sql.copy_format import CopyFormat
from reclock.sql.names import QualifiedName
from reclock.sql.role_statements import RoleStatement

# --- queries ---


@dataclass(frozen=True, slots=True)
class AsOf:
    """The time a query is to be read at: exactly ``at``, or ``is_at_least`` at or after it."""

    at: Timestamp
    is_at_least: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """A function that does something for each row. Its column has its arguments, as texts, until that is done."""

    index: int
    function: str


@dataclass(frozen=True, slots=True)
class Select:
    """A query. ``plan`` yields ``desc``'s columns first; ``finishing`` orders and cuts, and hides the rest.

    The plan reads views as ``Get`` of the view's own id: ``planner.views.expand`` replaces them. A SHOW is a Select without any
    ``Get``: what it shows is in the plan.
    """

    plan: Plan
    finishing: Finishing
    desc: RelationDesc
    as_of: AsOf | None = None
    depends_on: frozenset[GlobalId] = frozenset()
    tag: str = "SELECT"
    effects: tuple[Effect, ...] = ()
    """What the rows do; only of a statement of its own. ``desc`` has the columns as they are then."""


@dataclass(frozen=True, slots=True)
class SubscribeQuery:
    """The changes of a query, as they come: first its rows, if ``has_snapshot``, at the time it would be read at; then what
    changes at each later time below ``up_to``. ``desc`` is time, whether it is progress (if ``has_progress``), diff, columns.

    What has one time is in ``order`` (the diff counts as a column after all others), then in that of the rows. With an
    ``envelope``, there is one row for each ``key`` that changes: its state in the place of the diff, the key's columns, then the
    values it has now (UPSERT), or those before and those after (DEBEZIUM).
    """

    select: Select
    desc: RelationDesc
    has_snapshot: bool = True
    has_progress: bool = False
    up_to: Timestamp | None = None
    order: tuple[Ordering, ...] = ()
    envelope: Envelope | None = None
    key: tuple[int, ...] = ()
    tag: str = "SUBSCRIBE"


@dataclass(frozen=True, slots=True)
class Explain:
    """``is_timestamp`` asks for the time the query would be read at rather than for its plan."""

    select: Select
    is_timestamp: bool = False
    tag: str = "EXPLAIN"


# --- definitions ---


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """``on`` is None if the relation is made by the same statement."""

    name: QualifiedName
    create_sql: str
    on: GlobalId | None
    on_name: QualifiedName
    cluster_id: int
    depends_on: frozenset[GlobalId]
    tag: str = "CREATE INDEX"


@dataclass(frozen=True, slots=True)
class SourceDefinition:
    """What CREATE SOURCE says of the upstream. ``subsources`` are the tables it has, if it is not one relation; ``depends_on`` the
    connections it names."""

    desc: RelationDesc
    connector: Upstream
    format: Format | None
    subsources: Mapping[str, RelationDesc] = field(default_factory=dict)
    depends_on: frozenset[GlobalId] = frozenset()
    start: Timestamp | None = None
    """Where its history begins, if that is given by a backfill."""
    retain_ms: int | None = None
    """How far back it can be read, if that is its own."""
    host: GlobalId | None = None
    """The source in whose frontier group it is a guest."""

    @property
    def progress_desc(self) -> RelationDesc:
        """The relation that shows its bindings."""
        return self.connector.reclocking.progress_desc


@dataclass(frozen=True, slots=True)
class CreateSubsource:
    """A relation that a source fills beside others; it comes and goes with the source."""

    name: QualifiedName
    create_sql: str
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class CreateSource:
    """``progress_name`` is the name written, or the first free one. ``index`` comes with CREATE MATERIALIZED SOURCE."""

    name: QualifiedName
    create_sql: str
    source: SourceDefinition
    progress_name: QualifiedName
    index: CreateIndex | None = None
    subsources: tuple[CreateSubsource, ...] = ()
    depends_on: frozenset[GlobalId] = frozenset()
    tag: str = "CREATE SOURCE"

    @property
    def desc(self) -> RelationDesc:
        return self.source.desc


@dataclass(frozen=True, slots=True)
class CreateView:
    """``replaces`` are the ids that go when the view comes (dependents first); ``index`` comes with CREATE MATERIALIZED VIEW."""

    name: QualifiedName
    create_sql: str
    plan: Plan
    desc: RelationDesc
    depends_on: frozenset[GlobalId]
    replaces: tuple[GlobalId, ...] = ()
    index: CreateIndex | None = None
    tag: str = "CREATE VIEW"


@dataclass(frozen=True, slots=True)
class SinkDefinition:
    """What CREATE SINK says of its target. ``with_snapshot`` begins with the rows there are, not with the first change of them;
    ``uses`` are the connections."""

    target: SinkTarget
    with_snapshot: bool = True
    uses: frozenset[GlobalId] = frozenset()


@dataclass(frozen=True, slots=True)
class CreateSink:
    name: QualifiedName
    create_sql: str
    on: GlobalId
    sink: SinkDefinition
    cluster_id: int
    depends_on: frozenset[GlobalId]
    as_of: Timestamp | None = None
    """When it begins, if that is said."""
    inputs: frozenset[str] = frozenset()
    """The groups of what it reads."""
    tag: str = "CREATE SINK"


@dataclass(frozen=True, slots=True)
class Drop:
    """``ids`` go, dependents before what they depend on: those ``named``, and those that cannot be without them."""

    kind: str
    ids: tuple[GlobalId, ...]
    names: tuple[QualifiedName, ...]
    named: frozenset[GlobalId]
    notices: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        return f"DROP {self.kind.upper()}"


@dataclass(frozen=True, slots=True)
class CreateSchema:
    database_id: int
    name: str
    tag: str = "CREATE SCHEMA"


@dataclass(frozen=True, slots=True)
class DropSchemas:
    ids: tuple[int, ...]
    items: tuple[GlobalId, ...]  # they go before the schemas, dependents first
    notices: tuple[str, ...] = ()
    tag: str = "DROP SCHEMA"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing is to be done, and ``notice`` says why: IF NOT EXISTS and it exists, IF EXISTS and it does not."""

    tag: str
    notice: str


# --- tables ---


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """What CREATE TABLE says. ``defaults`` are the expressions of DEFAULT, or None, as syntax.

    ``constraints`` are declared, not enforced: other definitions and the catalog's relations may use them, never a plan.
    """

    desc: RelationDesc
    defaults: tuple[Any, ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Its columns; none if the table has none."""
        keys = (constraint.columns for constraint in self.constraints if constraint.kind is ConstraintKind.PRIMARY_KEY)
        return next(keys, ())


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: QualifiedName
    create_sql: str
    table: TableDefinition
    query: Select | None = None
    """Whose rows it begins with."""
    notices: tuple[str, ...] = ()
    tag: str = "CREATE TABLE"


@dataclass(frozen=True, slots=True)
class Modify:
    """A change of one table's rows: ``kind`` is ``INSERT``, ``UPDATE`` or ``DELETE``.

    The columns of ``plan`` are, for each row that is changed, the row that goes if ``removes``, the row that comes if ``adds``, and
    what is answered for it, described by ``returning``. As in a Select, views are ``Get``s of their own ids.
    """

    kind: str
    table: GlobalId
    name: QualifiedName
    desc: RelationDesc
    plan: Plan
    removes: bool
    adds: bool
    returning: RelationDesc | None
    depends_on: frozenset[GlobalId] = frozenset()

    @property
    def tag(self) -> str:
        return "INSERT 0" if self.kind == "INSERT" else self.kind


@dataclass(frozen=True, slots=True)
class CopyFrom:
    """``columns``, which are at ``positions`` of the table, come from the client; the others get their defaults."""

    table: GlobalId
    name: QualifiedName
    columns: tuple[Column, ...]
    positions: tuple[int, ...]
    format: CopyFormat
    tag: str = "COPY"


@dataclass(frozen=True, slots=True)
class CopyTo:
    """The rows of a query, or its changes, go to the client."""

    select: Select | SubscribeQuery
    format: CopyFormat
    tag: str = "COPY"


@dataclass(frozen=True, slots=True)
class Truncate:
    """Each table is emptied, all at once."""

    parts: tuple[Modify, ...]
    tag: str = "TRUNCATE TABLE"


# --- decisions about a source ---


@dataclass(frozen=True, slots=True)
class RetrySource:
    """The stalled claim of the source is tried again."""

    id: GlobalId
    name: QualifiedName
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class ResnapshotSource:
    """The next step of the source takes all that the upstream has then in place of what its relations have."""

    id: GlobalId
    name: QualifiedName
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class WaiveCheck:
    """The standing claim is published although ``check`` failed."""

    id: GlobalId
    name: QualifiedName
    check: str
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class RestartPartition:
    """What was given up under the name ``partition`` is read again from its beginning, as a new partition."""

    id: GlobalId
    name: QualifiedName
    partition: str
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class SkipRange:
    """Bytes ``[lower, upper)`` of ``partition`` are bound but not read; without bounds, the whole range of the standing claim."""

    id: GlobalId
    name: QualifiedName
    partition: str
    lower: int | None = None
    upper: int | None = None
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class RetainHistory:
    """How far back a source can be read from now on, as written; None is what the environment says. ``create_sql`` has it."""

    id: GlobalId
    name: QualifiedName
    duration: str | None
    create_sql: str
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class Rename:
    """``kind`` is what is renamed, ``source`` or ``table``. ``create_sql`` holds the new text of every item whose text names it."""

    kind: str
    id: GlobalId
    name: QualifiedName
    to: QualifiedName
    create_sql: tuple[tuple[GlobalId, str], ...]

    @property
    def tag(self) -> str:
        return f"ALTER {self.kind.upper()}"


# --- session ---


@dataclass(frozen=True, slots=True)
class SetRole:
    """The session goes on with the privileges of this role; None is its own."""

    id: str | None
    name: str
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class ShowVariable:
    """All of them, if ``name`` is None."""

    name: str | None
    tag: str = "SHOW"


@dataclass(frozen=True, slots=True)
class SetVariable:
    """No values is DEFAULT. ``is_local`` lasts until the end of the transaction."""

    name: str
    values: tuple[str, ...] | None
    is_local: bool = False
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class ResetVariable:
    """All of them, if ``name`` is None."""

    name: str | None
    tag: str = "RESET"


@dataclass(frozen=True, slots=True)
class TransactionControl:
    """``kind`` is ``BEGIN``, ``COMMIT`` or ``ROLLBACK``; or ``SAVEPOINT``, ``RELEASE`` or ``ROLLBACK TO``, of ``savepoint``.

    ``SET TRANSACTION`` and ``SET SESSION CHARACTERISTICS AS TRANSACTION`` have the modes of ``BEGIN``.
    """

    kind: str
    isolation: str | None = None
    access: str | None = None
    savepoint: str = ""

    @property
    def tag(self) -> str:
        return "SET" if self.kind.startswith("SET ") else self.kind.removesuffix(" TO")


Statement = (
    Select
    | SubscribeQuery
    | Explain
    | CreateIndex
    | CreateSink
    | CreateSource
    | CreateView
    | Drop
    | Skipped
    | RetrySource
    | ResnapshotSource
    | WaiveCheck
    | SkipRange
    | RestartPartition
    | RetainHistory
    | Rename
    | CreateTable
    | Modify
    | Truncate
    | CopyFrom
    | CopyTo
    | CreateSchema
    | DropSchemas
    | ClusterStatement
    | RoleStatement
    | ConnectionStatement
    | SetRole
    | ShowVariable
    | SetVariable
    | ResetVariable
    | TransactionControl
)

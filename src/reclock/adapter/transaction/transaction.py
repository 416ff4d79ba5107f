"""A transaction: the one time at which it reads, what it has read, and what it will write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from reclock.adapter.timestamps import readiness
from reclock.adapter.timestamps.read_time import ReadTime
from reclock.adapter.transaction.constraint_checks import ConstraintChecks
from reclock.adapter.transaction.ddl_transaction import DdlStatement, Definitions
from reclock.adapter.transaction.reference_checks import ReferenceChecks
from reclock.adapter.transaction.references import (
    ForeignKeyName,
    PendingReferences,
    ReferenceMark,
    References,
)
from reclock.adapter.transaction.table_reads import add_read, tables_read
from reclock.adapter.transaction.temporary import TemporaryObjects, TemporaryState
from reclock.adapter.transaction.used_relations import UsedRelation
from reclock.algebra.ids import TABLES, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.keys import Keys
from reclock.collections.table_commits import Commit, Dependencies
from reclock.collections.tables import rows_of, rows_schema, table_id, updates_at
from reclock.errors import (
    CatalogMoved,
    CollectionDamaged,
    ForeignCollection,
    MixedTransaction,
    NotReadable,
    OutsideTransaction,
    RelationChanged,
    TransactionReadOnly,
    UnknownCollection,
    UnsupportedSql,
    quoted_name,
)
from reclock.plan.relational import Plan, collections
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import RelationEntry, Scope
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import Select

_ATTEMPTS = 10

Groups = frozenset[str]


@dataclass(frozen=True, slots=True)
class TransactionMark:
    """The number of definitions and, for each table, of writes: what a transaction can be rewound
    to."""

    defined: int
    written: Mapping[GlobalId, int]
    references: ReferenceMark


@dataclass(frozen=True, slots=True)
class StatementStart:
    """What a transaction had written when a statement began: the number of writes to each table, and
    the temporary tables."""

    written: Mapping[GlobalId, int]
    temporary: TemporaryState


class Transaction:
    """Reads at one time, sees its own writes, and commits all of them at one later time, or none.

    The commit fails if anything it read was written in between, so the transaction is as if it ran
    at the time of the commit. Only tables are written and checked like this: a transaction that
    writes may read nothing else but system relations, which are as of now. The transaction of a
    block holds, from its first query on, everything in the schemas that the query names.

    A transaction that defines objects sees them. The tables that it creates have their rows from
    their first time on, so committing the definitions commits these rows. What it writes to older
    tables is committed with the definitions, in one transaction of consensus.
    """

    def __init__(
        self,
        environment: Environment,
        definitions: Definitions,
        temporary: TemporaryObjects,
        *,
        is_block: bool = False,
        is_read_only: Callable[[], bool] = lambda: False,
        searched_scopes: Callable[[], Set[Scope]] = frozenset,
    ) -> None:
        self.definitions = definitions
        self._temporary = temporary
        self.is_block = is_block
        self._is_read_only = is_read_only
        self.writes: dict[GlobalId, list[pa.Table]] = {}
        """Rows with their diffs, in the order of the statements."""
        self._environment = environment
        self._tables: dict[GlobalId, RelationEntry] = {}
        self._used: dict[GlobalId, UsedRelation] = {}
        self._searched_scopes, self._searched = searched_scopes, set[Scope]()
        """The schemas in which its statements looked for names without a schema."""
        self._reads: dict[GlobalId, Keys | None] = {}
        """The tables that were read, and by which keys; None stands for all rows."""
        self._replaced: set[GlobalId] = set()
        """The older tables that it replaces by new ones with rewritten rows."""
        self._replacements: set[GlobalId] = set()
        """The new tables that replace others."""
        self._has_read_others = False
        self._time: ReadTime | None = None
        self._domain: Groups = frozenset()
        self._hold_scope = ExitStack()
        self._catalog_ts: Timestamp | None = None
        self._checks = ConstraintChecks(environment)
        self._catalog: PlannerCatalog | None = None
        """The catalog of its last write."""
        self._references = References()

    # --- reading ---

    def time_of(
        self,
        definition: Plan,
        select: Select,
        catalog: PlannerCatalog,
        choose: Callable[[Groups], ReadTime],
    ) -> ReadTime:
        """The time that a query reads at, the same for all queries of the transaction.
        ``definition`` is its plan over collections.

        Raises ``OutsideTransaction``, ``UnsupportedSql``.
        """
        self._use(select.depends_on, catalog)
        read = [
            id
            for id in collections(definition)
            if id.has_times and id.source_id not in self.created
        ]
        groups = frozenset(id.group for id in read)
        if select.as_of is not None:
            if self.is_block:
                raise UnsupportedSql(
                    "AS OF is not supported in a transaction block", hint="COMMIT or ROLLBACK first"
                )
            return choose(groups)
        if not groups:
            return self._time or choose(groups)
        if self.writes.keys() - self.created and groups != {TABLES}:
            raise _reads_other_relations()
        if self._time is None:
            self._domain = self._reachable(groups, select, catalog) if self.is_block else groups
            self._time = choose(self._domain)
            if self.is_block:
                self._hold_scope.enter_context(
                    self._environment.stores.shared_holds.held(self._domain, self._time.at)
                )
        elif outside := groups - self._domain:
            raise OutsideTransaction(sorted(_name(catalog, group) for group in outside))
        self._has_read_others = self._has_read_others or groups != {TABLES}
        for table, keys in tables_read(definition).items():
            if table not in self.created:
                self._touch(catalog.relation(table), catalog)
                add_read(self._reads, table, keys)
        return self._time

    @property
    def read_at(self) -> Timestamp | None:
        """The time at which it reads, once it has read."""
        return self._time.at if self._time is not None else None

    def has_lost(self, error: NotReadable) -> bool:
        """Whether the read time of the block was compacted away, because its read hold expired."""
        return self.is_block and self._time is not None and error.at == self._time.at < error.since

    def statement_start(self) -> StatementStart:
        """The current state, as the start of a statement."""
        written = {table: len(rows) for table, rows in self.writes.items()}
        return StatementStart(written, self._temporary.state)

    def own_updates(
        self, at: Timestamp, start: StatementStart | None = None
    ) -> dict[StorageCollectionId, pa.Table]:
        """The transaction's uncommitted writes, those before ``start`` if it is given, by table, as
        updates at ``at``."""
        return {
            table_id(id): pa.concat_tables(
                [updates_at(rows, at, self._tables[id].desc) for rows in written]
            )
            for id in self.writes.keys() - self.created
            if (written := self._written(id, start))
        }

    @property
    def created(self) -> Set[GlobalId]:
        """The tables that the transaction creates. No other transaction sees them before the
        commit."""
        return self.definitions.created_tables.keys()

    def created_rows(self, table: RelationEntry, start: StatementStart | None = None) -> pa.Table:
        """The rows of one of the ``created`` tables, at ``start`` if it is given."""
        return rows_of(self._written(table.id, start), table.desc)

    def _written(self, table: GlobalId, start: StatementStart | None) -> Sequence[pa.Table]:
        written = self.writes.get(table, [])
        return written if start is None else written[: start.written.get(table, 0)]

    @staticmethod
    def _reachable(groups: Groups, select: Select, catalog: PlannerCatalog) -> Groups:
        """The frontier groups of everything readable in the schemas that the query names, including
        what views there read."""
        named = [entry for entry in map(catalog.entry, select.depends_on) if entry is not None]
        scopes = {entry.name.scope for entry in named if not entry.is_system}
        reachable = set(groups)
        for entry in catalog.relations():
            if entry.name.scope in scopes and not entry.is_system:
                plan = entry.query
                ids = collections(expand(plan, catalog)) if plan is not None else {entry.collection}
                reachable |= {id.group for id in ids if id.has_times}
        return frozenset(reachable)

    # --- writing ---

    def check_writable(self, statement: str) -> None:
        """Raises ``TransactionReadOnly``."""
        if self._is_read_only():
            raise TransactionReadOnly(statement)

    def write(self, table: RelationEntry, rows: pa.Table, catalog: PlannerCatalog) -> None:
        """Add the rows of a statement, with their diffs, to the commit; a temporary table gets them
        at once.

        Raises ``MixedTransaction``, and the violations of the table's constraints.
        """
        if table.is_temporary:
            self._check_temporary(table, rows, catalog)
            self._temporary.write(table, rows)
            return
        if table.id not in self.created:
            if self.definitions:
                self._check_mixed()
            if self._has_read_others:
                raise _reads_other_relations()
            self._touch(table, catalog)
        if rows.num_rows:
            written = self.writes.setdefault(table.id, [])
            self._checks.check(table, written, rows, catalog, is_new=table.id in self.created)
            written.append(rows)
            self._catalog = catalog

    # --- foreign keys ---

    def end_statement(self) -> None:
        """Check the foreign keys that are not deferred, after a statement with all of its actions.

        Raises ``ForeignKeyViolation``, ``WriteConflict``.
        """
        self._references.end_statement(self._pending_references())

    def set_constraints(self, names: Set[ForeignKeyName] | None, *, is_deferred: bool) -> None:
        """Defer the foreign keys, all if ``names`` is None, to the commit; or check them now, and
        from now on at the end of each statement. Raises ``ForeignKeyViolation``."""
        self._references.set(names, is_deferred, self._pending_references())

    def reference_checks(self) -> ReferenceChecks:
        """Looks keys up as the transaction sees them now."""
        return ReferenceChecks(self._checks, self.writes, self.created, self.read_at)

    def _pending_references(self) -> PendingReferences:
        catalog = self.definitions.catalog if self.definitions else self._catalog
        return PendingReferences(self.reference_checks(), catalog, self._touch)

    def _check_temporary(
        self, table: RelationEntry, rows: pa.Table, catalog: PlannerCatalog
    ) -> None:
        present = self._temporary.rows(table)
        before = pa.table(
            [*present.columns, pa.repeat(pa.scalar(1, pa.int64()), present.num_rows)],
            names=rows.column_names,
        )
        ConstraintChecks(self._environment).check(table, [before], rows, catalog, is_new=True)

    def define(self, definition: DdlStatement, *, is_filled: bool = False) -> GlobalId | None:
        """Add a definition to the commit, see ``Definitions.add``. Raises ``MixedTransaction``."""
        if self.writes.keys() - self.created:
            self._check_mixed()
        return self.definitions.add(definition, is_filled=is_filled)

    def replace(self, table: GlobalId, definition: DdlStatement) -> GlobalId:
        """Add a definition that puts another table, which the transaction fills with what it has
        read, in the place of ``table``. Returns the id of the new table.

        The commit fails if ``table`` was written since it was read. Raises ``UnsupportedSql``.
        """
        self._references.check_all(self._pending_references())
        if table not in self.created:
            if not self._environment.stores.catalog.is_in_consensus:
                raise UnsupportedSql(
                    "the columns of a table cannot be changed while the catalog is kept in the lake",
                    hint="create another table with CREATE TABLE, and fill it with INSERT … SELECT",
                )
            self._replaced.add(table)
        id = self.definitions.add(definition, is_filled=True)
        assert id is not None
        self._replacements.add(id)
        self.writes[id] = []
        return id

    def _check_mixed(self) -> None:
        if not self._environment.stores.catalog.is_in_consensus:
            raise MixedTransaction()

    def _touch(self, table: RelationEntry, catalog: PlannerCatalog) -> None:
        self._tables.setdefault(table.id, table)
        self._use({table.id}, catalog)

    def _use(self, ids: Set[GlobalId], catalog: PlannerCatalog) -> None:
        """Record the relations that a statement was planned with, and what views among them read:
        the commit fails if one changed.

        Raises ``RelationChanged`` if it has changed since an earlier statement.
        """
        assert catalog.snapshot is not None
        self._searched |= self._searched_scopes()
        base = self.definitions.base if self.definitions else catalog
        names = {used.entry.name: id for id, used in self._used.items()}
        unchecked, checked = set(ids), set[GlobalId]()
        while unchecked:
            id = unchecked.pop()
            checked.add(id)
            entry = base.entry(id) or catalog.entry(id)
            if (
                not isinstance(entry, RelationEntry)
                or entry.is_system
                or entry.is_temporary
                or entry.id in self.created
            ):
                continue
            unchecked |= entry.depends_on - checked
            if base.entry(id) is None:  # a view that the transaction creates
                continue
            used = self._used.get(id)
            if used is None:
                used = self._used[id] = UsedRelation.of(entry, base)
            if used.entry.desc != entry.desc or names.get(entry.name, id) != id:
                raise RelationChanged(str(entry.name))
        upper = catalog.snapshot.upper
        self._catalog_ts = upper if self._catalog_ts is None else min(self._catalog_ts, upper)

    def mark(self) -> TransactionMark:
        """The point that ``rewind`` goes back to."""
        return TransactionMark(
            len(self.definitions),
            {table: len(rows) for table, rows in self.writes.items()},
            self._references.mark(),
        )

    def rewind(self, mark: TransactionMark) -> None:
        """Drop the definitions and writes since ``mark``."""
        self.definitions.rewind(mark.defined)
        self.writes = {
            table: rows[: mark.written[table]]
            for table, rows in self.writes.items()
            if table in mark.written
        }
        self._checks.rewind(self.writes)
        self._references.rewind(mark.references)

    # --- commit ---

    def commit(self) -> None:
        """Make all definitions and all writes durable and visible, at one time.

        Raises ``WriteConflict``, ``RelationChanged``, ``UpperMismatch``, ``ForeignKeyViolation``.
        """
        try:
            self._references.check_all(self._pending_references())
            if self.definitions:
                self._fill()
                if self.definitions.commit(self._rows_beside):
                    return
            if writes := self._old_table_writes():
                self._commit(writes)
        finally:
            self.release()

    def release(self) -> None:
        """Release the read holds."""
        self._hold_scope.close()

    def _fill(self) -> None:
        """Write the rows of created tables to the lake, before the catalog names the tables."""
        catalog, tables = self.definitions.catalog, self._environment.stores.tables
        for id in self.created & self.writes.keys():
            if catalog.entry(id) is not None:
                table = catalog.relation(id)
                tables.fill(
                    id,
                    table.desc,
                    pa.concat_tables(self.writes[id] or [rows_schema(table.desc).empty_table()]),
                    at=self.definitions.begins_at,
                    incarnation=self.definitions.created_tables[id].incarnation,
                    is_empty_before=id not in self._replacements,
                )

    def _old_table_writes(self) -> dict[GlobalId, pa.Table]:
        """The rows with their diffs, by table, for tables that the transaction neither creates nor
        drops."""
        return {
            table: pa.concat_tables(rows)
            for table, rows in self.writes.items()
            if table not in self.created and not self.definitions.is_dropped(table)
        }

    def _dependencies(self) -> Dependencies:
        return Dependencies(
            reads=frozenset(self._reads),
            read_at=self._time.at if self._time is not None and self._reads else None,
            keys={table: keys for table, keys in self._reads.items() if keys is not None},
            key_reads=tuple(self._checks.key_reads()),
            key_changes=self._checks.key_changes(self.writes),
        )

    def _rows_beside(self, base: PlannerCatalog) -> Commit | None:
        """The writes to older tables, to be committed on exactly the catalog ``base``."""
        writes = self._old_table_writes()
        dependencies = self._dependencies()
        if not writes and not self._replaced and not dependencies["key_reads"]:
            return None
        self._check_mixed()
        self._check_relations(base)
        return self._environment.stores.tables.prepare(writes, catalog_ts=MAXIMUM, **dependencies)

    def _commit(self, writes: Mapping[GlobalId, pa.Table]) -> None:
        assert self._catalog_ts is not None
        stores = self._environment.stores
        for attempt in range(_ATTEMPTS):
            try:
                at = stores.tables.commit(
                    writes, catalog_ts=self._catalog_ts, **self._dependencies()
                )
                stores.note_published({TABLES: Timestamp(at + 1)})
                return
            except (CollectionDamaged, ForeignCollection, UnknownCollection) as broken:
                catalog_ts = self._recheck_relations()
                if attempt == _ATTEMPTS - 1 or not isinstance(broken, UnknownCollection):
                    raise readiness.named(
                        broken, self._environment, stores.planner_catalog()
                    ) from broken
                self._catalog_ts = catalog_ts
            except CatalogMoved:
                self._catalog_ts = self._recheck_relations()
                if attempt == _ATTEMPTS - 1:
                    raise

    def _recheck_relations(self) -> Timestamp:
        """The catalog's upper now, if all relations that the transaction used are unchanged there.
        A replaced view has a new id.

        Raises ``RelationChanged``.
        """
        catalog = self._environment.stores.planner_catalog()
        assert catalog.snapshot is not None
        self._check_relations(catalog)
        readiness.require_ready(self._environment, catalog, self._tables)
        return catalog.snapshot.upper

    def _check_relations(self, catalog: PlannerCatalog) -> None:
        """Raises ``RelationChanged`` if a relation that the transaction used differs in ``catalog``."""
        for id, used in self._used.items():
            if not used.is_still(catalog, self.writes.get(id, ()), self._searched):
                raise RelationChanged(str(used.entry.name))


def _reads_other_relations() -> UnsupportedSql:
    return UnsupportedSql(
        "a transaction that writes can read only tables, and views over them",
        detail="what a source holds may have changed by the time of the commit",
        hint="make a materialized view of the query instead, or read and write in two transactions",
    )


def _name(catalog: PlannerCatalog, group: str) -> str:
    entry = catalog.entry(GlobalId(group))
    return quoted_name(entry.name) if entry is not None else "tables"

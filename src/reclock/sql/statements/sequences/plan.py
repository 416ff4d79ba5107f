"""CREATE SEQUENCE and ALTER SEQUENCE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import Item, ItemType
from reclock.errors import UnsupportedSql
from reclock.sql.catalog.definitions import SequenceDefinition
from reclock.sql.catalog.entries import SequenceEntry
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, parts
from reclock.sql.planning.definitions import skip_existing, skip_missing
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.statements.sequences.definitions import (
    check_owner,
    check_restart,
    define_sequence,
    sequence_text,
)
from reclock.sql.statements.sequences.syntax import AlterSequenceStatement, CreateSequenceStatement
from reclock.sql.statements.tables.generated import is_identity


@plans(CreateSequenceStatement)
def create_sequence(
    node: CreateSequenceStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateSequence | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.SEQUENCE, catalog)
    if skipped is not None:
        return skipped
    sequence = _owned(define_sequence(node.args["options"]), name, catalog, session)
    return CreateSequence(name, sequence_text(name, sequence))


@plans(AlterSequenceStatement)
def alter_sequence(
    node: AlterSequenceStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterSequence | Skipped:
    written = parts(node.this)
    skipped = skip_missing(node, "SEQUENCE", catalog.find(written, session))
    if skipped is not None:
        return skipped
    entry = find_object(written, "SEQUENCE", catalog, session)
    assert isinstance(entry, SequenceEntry)
    options = node.args["options"]
    if options.args.get("owner") is not None or options.args.get("is_free"):
        _check_not_of_identity(entry, catalog)
    sequence = _owned(define_sequence(options, old=entry.sequence), entry.name, catalog, session)
    restart = options.args.get("restart")
    restarts_at = None
    if restart is not None:
        restarts_at = sequence.start if restart is True else int(restart.name)
        check_restart(restarts_at, sequence)
    return AlterSequence(
        entry.id,
        entry.name,
        sequence_text(entry.name, sequence),
        sequence,
        restarts_at,
        entry.sequence.start,
    )


def _owned(
    sequence: SequenceDefinition,
    name: QualifiedName,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> SequenceDefinition:
    """The sequence with the full name of the table that owns it."""
    if sequence.owner is None:
        return sequence
    written, column = sequence.owner
    table = catalog.resolve(written, session)
    check_owner(table, column, name)
    return replace(sequence, owner=(parts(table.name.to_table()), column))


def _check_not_of_identity(entry: SequenceEntry, catalog: PlannerCatalog) -> None:
    """Raises ``UnsupportedSql`` if the sequence makes the values of an identity column."""
    if entry.sequence.owner is None:
        return
    written, column = entry.sequence.owner
    table = catalog.resolve(written, SessionNames())
    if column in table.desc.names and is_identity(table, table.desc.names.index(column)):
        raise UnsupportedSql(
            "cannot change ownership of identity sequence",
            detail=f'Sequence "{entry.name.item}" is linked to table "{table.name.item}".',
        )


@plans_item(CreateSequenceStatement)
def sequence_entry(
    node: CreateSequenceStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> SequenceEntry:
    sequence = define_sequence(node.args["options"])
    return SequenceEntry(item.id, name, sequence, item.incarnation, item.create_sql or "")


@dataclass(frozen=True, slots=True)
class CreateSequence:
    name: QualifiedName
    create_sql: str
    tag: str = "CREATE SEQUENCE"


@dataclass(frozen=True, slots=True)
class AlterSequence:
    """``restarts_at`` is the value that comes next, if the statement says one. ``old_start`` is the
    first value of a sequence that has not begun."""

    id: GlobalId
    name: QualifiedName
    create_sql: str
    sequence: SequenceDefinition
    restarts_at: int | None
    old_start: int
    tag: str = "ALTER SEQUENCE"

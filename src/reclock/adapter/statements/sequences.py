"""Sequences: CREATE and ALTER, their functions, and the columns that they generate."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.context.sequences import placed
from reclock.adapter.planning.authorization import (
    AuthorizationContext,
    Requirements,
    authorize_any,
    requires,
)
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import change_catalog, send_notices
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.algebra.relations import BIGINT
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import ItemType, Kind
from reclock.errors import TransactionReadOnly
from reclock.sql.catalog.entries import SequenceEntry
from reclock.sql.queries.literals import parse_text
from reclock.sql.statements.sequences.calls import parsed_name
from reclock.sql.statements.sequences.plan import AlterSequence, CreateSequence
from reclock.sql.statements.tables.generated import GeneratedValues, find_sequence


@requires(CreateSequence)
def _(statement: CreateSequence, context: AuthorizationContext) -> Requirements:
    return context.require(*context.creating(statement.name))


@executes(CreateSequence)
def _(statement: CreateSequence, context: StatementContext) -> Result:
    if not statement.name.is_temporary:
        return change_catalog(statement, context)
    context.transactions.temporary.create(
        statement.name, ItemType.SEQUENCE, statement.create_sql, context.users
    )
    send_notices(statement, context)
    return Result(statement.tag)


@defines(CreateSequence)
def _(statement: CreateSequence, change: CatalogChange) -> None:
    change.insert_sequence(statement.name, statement.create_sql)


@requires(AlterSequence)
def _(statement: AlterSequence, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@executes(AlterSequence)
def _(statement: AlterSequence, context: StatementContext) -> Result:
    if statement.restarts_at is None:
        old = context.catalog.entry(statement.id)
        assert isinstance(old, SequenceEntry)
        context.sequences.check_position(old, statement.sequence)
    result = change_catalog(statement, context)
    catalog, _ = context.transactions.present()
    entry = catalog.entry(statement.id)
    assert isinstance(entry, SequenceEntry)
    if statement.restarts_at is not None:
        context.sequences.restart(entry, statement.restarts_at)
    elif entry.sequence.start != statement.old_start:  # which only RESTART goes back to
        context.sequences.begin(entry, statement.old_start)
    return result


@defines(AlterSequence)
def _(statement: AlterSequence, change: CatalogChange) -> None:
    change.redefine(statement.id, statement.create_sql)
    change.audit("alter", "sequence", statement.name)


def with_generated(
    rows: pa.Table, generated: Sequence[GeneratedValues], context: StatementContext
) -> pa.Table:
    """Rows of a table with the next values of sequences in their columns."""
    for values in generated:
        entry = context.catalog.entry(values.sequence)
        assert isinstance(entry, SequenceEntry)
        count = rows.num_rows if values.rows is None else len(values.rows)
        column = placed(
            context.sequences.take(entry, count), rows.column(values.position), values.rows
        )
        rows = rows.set_column(values.position, rows.column_names[values.position], column)
    return rows


def call_sequence(function: str, arguments: Sequence[str], context: StatementContext) -> int:
    """The value of ``nextval``, ``currval``, ``lastval`` or ``setval``. Raises
    ``PermissionDenied``, and what these raise."""
    if function == "lastval":
        return context.sequences.last()
    catalog, _ = context.transactions.present()
    entry = find_sequence(parsed_name(arguments[0]), catalog, context.planner.names_at(catalog))
    if not entry.name.is_temporary:
        privileges = {
            "nextval": (Privilege.USAGE, Privilege.UPDATE),
            "currval": (Privilege.USAGE, Privilege.SELECT),
            "setval": (Privilege.UPDATE,),
        }[function]
        authorize_any(entry.id, privileges, catalog, context.users)
        if function != "currval" and context.variables.is_read_only:
            raise TransactionReadOnly(f"{function}()")
    match function:
        case "nextval":
            return int(context.sequences.take(entry, 1)[0].as_py())
        case "currval":
            return context.sequences.current(entry)
        case _:
            is_called = len(arguments) < 3 or arguments[2] in ("true", "t")
            value = parse_text(arguments[1], BIGINT)
            assert isinstance(value, int)
            return context.sequences.move(entry, value, is_called=is_called)

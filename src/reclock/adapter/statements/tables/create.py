"""CREATE TABLE, and CREATE TABLE AS, which fills the table in the transaction that creates it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.query.queries import run_query
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import (
    check_permanent,
    define_in_transaction,
    send_notices,
)
from reclock.adapter.statements.tables.rows import read_all, with_diff
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.adapter.transaction.ddl_transaction import DdlStatement
from reclock.adapter.transaction.transaction import Transaction
from reclock.catalog.objects import ItemType, Kind
from reclock.collections.schema import arrow_schema
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.foreign_keys import targets_of
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.plan import CreateTable
from reclock.sql.syntax.parse import ParsedStatement, parse_one


@requires(CreateTable)
def _(statement: CreateTable, context: AuthorizationContext) -> Requirements:
    reading = context.reading(statement.reads) if statement.reads else ()
    targets = targets_of(statement.table.constraints, context.catalog)
    owner_of = tuple((Kind.ITEM, id) for id in targets)
    return context.require(*context.creating(statement.name), *reading, owner_of=owner_of)


@executes(CreateTable)
def _(statement: CreateTable, context: StatementContext) -> Result:
    if statement.name.is_temporary:
        return _create_temporary(statement, context)
    if statement.query is None:
        check_permanent(statement, context)
    definition = DdlStatement(
        _permanent_text(statement, context), context.planner, (context.catalog, statement)
    )
    query = statement.query

    def work(transaction: Transaction) -> Result:
        id = transaction.define(definition, is_filled=transaction.is_block or query is not None)
        if query is None or id is None:
            return Result(statement.tag)
        catalog = context.transactions.temporary.over(transaction.definitions.catalog)
        return _fill(catalog.relation(id), query, transaction, replace(context, catalog=catalog))

    return define_in_transaction(statement, context, work)


@defines(CreateTable)
def _(statement: CreateTable, change: CatalogChange) -> None:
    for name, create_sql in statement.sequences:
        change.insert_sequence(name, create_sql)
    id = change.insert(statement.name, ItemType.TABLE, statement.create_sql)
    change.copy_column_comments(statement.commented, id, statement.table.desc.names)
    change.audit("create", "table", statement.name, id=id, create_sql=statement.create_sql)


def _permanent_text(statement: CreateTable, context: StatementContext) -> ParsedStatement:
    """The statement as other sessions understand it, and as it can be planned again: the temporary
    objects and the parameters of its query are left out, since only its columns count."""
    reads_temporary = any(id.startswith("t") for id in statement.reads)
    if not reads_temporary and context.parsed.node.find(exp.Parameter) is None:
        return context.parsed
    node = parse_one(statement.create_sql)
    node.set("exists", context.parsed.node.args.get("exists"))
    return replace(context.parsed, node=node)


def _create_temporary(statement: CreateTable, context: StatementContext) -> Result:
    temporary, query = context.transactions.temporary, statement.query

    def work(transaction: Transaction) -> Result:
        on_commit = statement.on_commit
        for name, create_sql in statement.sequences:
            id = temporary.create(name, ItemType.SEQUENCE, create_sql, context.users)
            temporary.at_commit(id, "DROP" if on_commit == "DROP" else None)
        id = temporary.create(statement.name, ItemType.TABLE, statement.create_sql, context.users)
        temporary.at_commit(id, on_commit)
        if query is None:
            return Result(statement.tag)
        return _fill(temporary.over(context.catalog).relation(id), query, transaction, context)

    result = context.transactions.run(work)
    send_notices(statement, context)
    return result


def _fill(
    table: RelationEntry, query: Select, transaction: Transaction, context: StatementContext
) -> Result:
    """Write what the query answers to the new table."""
    schema = arrow_schema(table.desc, with_updates=False)
    rows = read_all(run_query(context, query, transaction), schema)
    transaction.write(table, with_diff(rows, table.desc, 1), context.catalog)
    return Result(f"SELECT {rows.num_rows}")

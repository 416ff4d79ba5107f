"""The text of a definition after objects that it names came into another schema, or their schema or
database got another name."""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from reclock.errors import SqlSyntaxError
from reclock.sql.named_types import set_parts, written_parts
from reclock.sql.names import QualifiedName, fold, identifier, parts
from reclock.sql.statements.functions.names_syntax import FunctionName
from reclock.sql.statements.sequences.calls import called_sequences, sequence_parts
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one


def with_moved_names(
    create_sql: str,
    schema: tuple[str, str],
    to: tuple[str, str],
    items: Container[str] | None = None,
) -> str | None:
    """The text of a definition after the ``items`` of ``schema``, a database and a name in it, moved
    to the schema ``to``. None stands for all items; no function is among others.

    None if the text names none of them, or cannot be read.
    """
    try:
        node = parse_one(create_sql)
    except SqlSyntaxError:
        return None  # the item is quarantined, and stays so
    database, name = to

    def is_moved(full_name: tuple[str, ...]) -> bool:
        return full_name[:-1] == schema and (items is None or full_name[-1] in items)

    relations = [
        table
        for table in node.find_all(exp.Table)
        if is_moved(parts(table)) and (items is None or not _names_function(table))
    ]
    sequences = [call for call in called_sequences(node) if is_moved(sequence_parts(call))]
    names = {parts(relation)[-1] for relation in relations}
    for column in node.find_all(exp.Column):
        if _relation_of(column, schema) in names:
            column.set("db", identifier(name))
            if column.args.get("catalog") is not None:
                column.set("catalog", identifier(database))
    for relation in relations:
        relation.set("db", identifier(name))
        relation.set("catalog", identifier(database))
    for call in sequences:
        call.set("this", str(QualifiedName(*to, sequence_parts(call)[-1])))
    functions = [
        dot for dot in node.find_all(exp.Dot) if items is None and _called_schema(dot) == schema
    ]
    for dot in functions:
        dot.set("this", exp.Dot(this=identifier(database), expression=identifier(name)))
    types = [kind for kind in node.find_all(exp.DataType) if is_moved(written_parts(kind))]
    for kind in types:
        set_parts(kind, (*to, written_parts(kind)[-1]))
    return to_sql(node) if relations or sequences or functions or types else None


def _names_function(table: exp.Table) -> bool:
    """Whether it is the name of a function, or a call in FROM."""
    return isinstance(table, FunctionName) or not isinstance(table.this, exp.Identifier)


def _called_schema(node: exp.Dot) -> tuple[str, str] | None:
    """The database and the schema of the function that is called with its full name."""
    if not isinstance(node.expression, exp.Anonymous) or not isinstance(node.this, exp.Dot):
        return None
    return fold(node.this.this), fold(node.this.expression)


def _relation_of(column: exp.Column, schema: tuple[str, str]) -> str | None:
    """The name of the relation in the schema by which the column is qualified, if it is."""
    database, name = column.args.get("catalog"), column.args.get("db")
    if name is None or fold(name) != schema[1]:
        return None
    if database is not None and fold(database) != schema[0]:
        return None
    return fold(column.args["table"])

"""ALTER TABLE."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.errors import UnsupportedSql
from reclock.sql.statements.tables.constraints_syntax import is_table_constraint, table_constraint
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters
from reclock.sql.syntax.writing import generates, joined, listed, when


class AlterTableStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "actions": True}


class AlterTableAction(exp.Expression):
    """``kind`` is ``SET DEFAULT``, ``DROP DEFAULT``, ``TYPE``, ``ADD CONSTRAINT``, ``DROP
    CONSTRAINT``, ``VALIDATE CONSTRAINT`` or ``RENAME CONSTRAINT``. ``this`` is the column, or the
    name of the constraint; ``value`` the default, the type, the constraint or the new name."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": False,
        "value": False,
        "exists": False,
        "behavior": False,
    }


@alters("TABLE")
def alter_table(parser: StatementParser, name: exp.Table, exists: bool) -> AlterTableStatement:
    return AlterTableStatement(this=name, exists=exists, actions=parser.comma_list(_action))


def rename_part(parser: StatementParser, name: exp.Table, exists: bool) -> AlterTableStatement:
    """Behind RENAME, what is not TO: a constraint, or a column."""
    if not parser.accept("CONSTRAINT"):
        _unsupported("RENAME COLUMN")
    old = parser.name()
    parser.expect("TO")
    action = AlterTableAction(kind="RENAME CONSTRAINT", this=old, value=parser.name())
    return AlterTableStatement(this=name, exists=exists, actions=[action])


def _action(parser: StatementParser) -> AlterTableAction:
    if parser.accept("ALTER"):
        return _alter_column(parser)
    if parser.accept("ADD"):
        if not is_table_constraint(parser):
            _unsupported("ADD COLUMN")
        return AlterTableAction(kind="ADD CONSTRAINT", value=table_constraint(parser))
    if parser.accept("VALIDATE", "CONSTRAINT"):
        return AlterTableAction(kind="VALIDATE CONSTRAINT", this=parser.name())
    if parser.accept("DROP", "CONSTRAINT"):
        exists = parser.if_exists()
        name = parser.name()
        behavior = parser.drop_behavior()
        return AlterTableAction(kind="DROP CONSTRAINT", this=name, exists=exists, behavior=behavior)
    if parser.accept("DROP"):
        _unsupported("DROP COLUMN")
    return parser.raise_error("Expected ADD, ALTER, DROP or VALIDATE")


def _alter_column(parser: StatementParser) -> AlterTableAction:
    parser.accept("COLUMN")
    name = parser.name()
    if parser.accept("SET", "DEFAULT"):
        default = parser.operand() or parser.missing()
        return AlterTableAction(kind="SET DEFAULT", this=name, value=default)
    if parser.accept("DROP", "DEFAULT"):
        return AlterTableAction(kind="DROP DEFAULT", this=name)
    if parser.accept("TYPE") or parser.accept("SET", "DATA", "TYPE"):
        type = parser.data_type() or parser.missing()
        if parser.accept("USING"):
            parser.value()
        return AlterTableAction(kind="TYPE", this=name, value=type)
    if parser.sees("SET", "NOT", "NULL") or parser.sees("DROP", "NOT", "NULL"):
        _unsupported("ALTER COLUMN … NOT NULL")
    return parser.raise_error("Expected SET DEFAULT, DROP DEFAULT or TYPE")


def _unsupported(what: str) -> NoReturn:
    raise UnsupportedSql(
        f"ALTER TABLE … {what} is not supported",
        hint="create another table with CREATE TABLE, and fill it with INSERT … SELECT",
    )


_WORDS = {
    "SET DEFAULT": ("ALTER COLUMN", "SET DEFAULT"),
    "DROP DEFAULT": ("ALTER COLUMN", "DROP DEFAULT"),
    "TYPE": ("ALTER COLUMN", "TYPE"),
    "ADD CONSTRAINT": ("ADD", ""),
    "DROP CONSTRAINT": ("DROP CONSTRAINT", ""),
    "VALIDATE CONSTRAINT": ("VALIDATE CONSTRAINT", ""),
    "RENAME CONSTRAINT": ("RENAME CONSTRAINT", "TO"),
}


@generates(AlterTableAction)
def _write_action(write: Generator, node: exp.Expression) -> str:
    before, behind = _WORDS[node.args["kind"]]
    return joined(
        before,
        when(node, "exists", "IF EXISTS"),
        write.sql(node, "this"),
        behind,
        write.sql(node, "value"),
        node.args.get("behavior") or "",
    )


@generates(AlterTableStatement)
def _write_alter_table(write: Generator, node: exp.Expression) -> str:
    name = joined("ALTER TABLE", when(node, "exists", "IF EXISTS"), write.sql(node, "this"))
    return joined(name, listed(write, node, "actions"))

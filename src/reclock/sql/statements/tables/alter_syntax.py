"""ALTER TABLE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.tables.constraints_syntax import is_table_constraint, table_constraint
from reclock.sql.statements.tables.syntax import TableColumn, generated_values, table_elements
from reclock.sql.syntax.collations import collated_type
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters
from reclock.sql.syntax.storage_parameters import storage_parameters
from reclock.sql.syntax.writing import clause, generates, joined, when, written_as


@written_as("ALTER TABLE [exists: IF EXISTS] {this} {actions}")
class AlterTableStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "actions": True}


class AlterTableAction(exp.Expression):
    """``kind`` is a key of ``_WORDS``. ``this`` is the column, or the name of the constraint;
    ``value`` the default, the type, the added column or constraint, the new name, or the comment.
    ``constraints`` are those of the added column, and ``using`` is the value in another type."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": False,
        "value": False,
        "constraints": False,
        "using": False,
        "exists": False,
        "behavior": False,
    }


@alters("TABLE")
def alter_table(parser: StatementParser, name: exp.Table, exists: bool) -> AlterTableStatement:
    return AlterTableStatement(this=name, exists=exists, actions=parser.comma_list(_action))


def rename_part(parser: StatementParser, name: exp.Table, exists: bool) -> AlterTableStatement:
    """The RENAME of a constraint or a column."""
    kind = "RENAME CONSTRAINT" if parser.accept("CONSTRAINT") else "RENAME COLUMN"
    if kind == "RENAME COLUMN":
        parser.accept("COLUMN")
    old = parser.name()
    parser.expect("TO")
    action = AlterTableAction(kind=kind, this=old, value=parser.name())
    return AlterTableStatement(this=name, exists=exists, actions=[action])


def _action(parser: StatementParser) -> AlterTableAction:
    if parser.accept("ALTER"):
        return _alter_column(parser)
    if parser.accept("ADD"):
        return _add(parser)
    if parser.accept("VALIDATE", "CONSTRAINT"):
        return AlterTableAction(kind="VALIDATE CONSTRAINT", this=parser.name())
    if parser.accept("DROP"):
        kind = "DROP CONSTRAINT" if parser.accept("CONSTRAINT") else "DROP COLUMN"
        if kind == "DROP COLUMN":
            parser.accept("COLUMN")
        exists = parser.if_exists()
        name = parser.name()
        behavior = parser.drop_behavior()
        return AlterTableAction(kind=kind, this=name, exists=exists, behavior=behavior)
    if _skip_storage(parser):
        return AlterTableAction(kind="SET WITHOUT CLUSTER")
    for word in ("ATTACH", "DETACH", "ENABLE", "DISABLE", "FORCE", "INHERIT", "NO"):
        if parser.sees(word):
            parser.unsupported("ALTER TABLE …")
    return parser.raise_error("Expected ADD, ALTER, DROP or VALIDATE")


def _skip_storage(parser: StatementParser) -> bool:
    """Read what PostgreSQL's dumps say about how a table is stored and replicated, if it is next."""
    if parser.sees("SET") and parser.next_token.token_type is TokenType.L_PAREN:
        parser.expect("SET")
        storage_parameters(parser)
    elif parser.accept("RESET"):
        parser.wrapped_list(StatementParser.name)
    elif parser.accept("CLUSTER", "ON"):
        parser.name()
    elif parser.accept("REPLICA", "IDENTITY"):
        if not parser.accept_first("DEFAULT", "FULL", "NOTHING"):
            parser.expect("USING", "INDEX")
            parser.name()
    else:
        words = ("SET WITHOUT CLUSTER", "SET WITHOUT OIDS", "SET LOGGED", "SET UNLOGGED")
        return parser.accept_first(*words) is not None
    return True


def _add(parser: StatementParser) -> AlterTableAction:
    if is_table_constraint(parser):
        return AlterTableAction(kind="ADD CONSTRAINT", value=table_constraint(parser))
    parser.accept("COLUMN")
    exists = parser.if_not_exists()
    column, *constraints = table_elements(parser)
    if not isinstance(column, TableColumn):
        parser.raise_error("Expected a column")
    return AlterTableAction(
        kind="ADD COLUMN", value=column, constraints=constraints or None, exists=exists
    )


def _alter_column(parser: StatementParser) -> AlterTableAction:
    parser.accept("COLUMN")
    name = parser.name()
    if parser.accept("SET", "DEFAULT"):
        default = parser.operand() or parser.missing()
        return AlterTableAction(kind="SET DEFAULT", this=name, value=default)
    if parser.accept("ADD", "GENERATED"):
        return AlterTableAction(kind="ADD IDENTITY", this=name, value=_identity(parser, name))
    if parser.accept("SET", "GENERATED"):
        kind = parser.accept_first("ALWAYS", "BY DEFAULT")
        return AlterTableAction(kind=f"SET GENERATED {kind or parser.missing()}", this=name)
    if parser.accept("DROP", "IDENTITY"):
        return AlterTableAction(kind="DROP IDENTITY", this=name, exists=parser.if_exists())
    for kind in ("DROP DEFAULT", "SET NOT NULL", "DROP NOT NULL"):
        if parser.accept(*kind.split()):
            return AlterTableAction(kind=kind, this=name)
    if parser.accept("SET", "EXPRESSION", "AS"):
        computed = parser.wrapped(StatementParser.value)
        return AlterTableAction(kind="SET EXPRESSION", this=name, value=exp.Paren(this=computed))
    if parser.accept("DROP", "EXPRESSION"):
        return AlterTableAction(kind="DROP EXPRESSION", this=name, exists=parser.if_exists())
    if parser.accept("TYPE") or parser.accept("SET", "DATA", "TYPE"):
        type = collated_type(parser) or parser.missing()
        using = parser.value() if parser.accept("USING") else None
        return AlterTableAction(kind="TYPE", this=name, value=type, using=using)
    if parser.accept("SET", "STATISTICS"):
        parser.accept_token(TokenType.DASH)
        parser.integer()
        return AlterTableAction(kind="SET STATISTICS", this=name)
    if parser.accept("SET", "STORAGE") or parser.accept("SET", "COMPRESSION"):
        parser.word("how the column is stored")
        return AlterTableAction(kind="SET STATISTICS", this=name)
    return parser.raise_error("Expected SET DEFAULT, DROP DEFAULT, NOT NULL or TYPE")


class AddedIdentity(exp.Expression):
    """``identity`` and ``options`` as of a `TableColumn`."""

    arg_types: ClassVar[dict[str, bool]] = {"identity": True, "options": True}


def _identity(parser: StatementParser, name: exp.Identifier) -> AddedIdentity:
    generated = generated_values(parser)
    if "identity" not in generated:
        parser.raise_error("Expected IDENTITY")
    return AddedIdentity(**generated)


@generates(AddedIdentity)
def _write_identity(write: Generator, node: exp.Expression) -> str:
    return joined(f"GENERATED {node.args['identity']} AS IDENTITY", write.sql(node, "options"))


_WORDS = {
    "ADD COLUMN": ("ADD COLUMN", ""),
    "DROP COLUMN": ("DROP COLUMN", ""),
    "RENAME COLUMN": ("RENAME COLUMN", "TO"),
    "SET DEFAULT": ("ALTER COLUMN", "SET DEFAULT"),
    "DROP DEFAULT": ("ALTER COLUMN", "DROP DEFAULT"),
    "SET EXPRESSION": ("ALTER COLUMN", "SET EXPRESSION AS"),
    "DROP EXPRESSION": ("ALTER COLUMN", "DROP EXPRESSION"),
    "ADD IDENTITY": ("ALTER COLUMN", "ADD"),
    "SET GENERATED ALWAYS": ("ALTER COLUMN", "SET GENERATED ALWAYS"),
    "SET GENERATED BY DEFAULT": ("ALTER COLUMN", "SET GENERATED BY DEFAULT"),
    "DROP IDENTITY": ("ALTER COLUMN", "DROP IDENTITY"),
    "SET NOT NULL": ("ALTER COLUMN", "SET NOT NULL"),
    "DROP NOT NULL": ("ALTER COLUMN", "DROP NOT NULL"),
    "TYPE": ("ALTER COLUMN", "TYPE"),
    "SET STATISTICS": ("ALTER COLUMN", "SET STATISTICS -1"),
    "SET WITHOUT CLUSTER": ("SET WITHOUT CLUSTER", ""),
    "ADD CONSTRAINT": ("ADD", ""),
    "DROP CONSTRAINT": ("DROP CONSTRAINT", ""),
    "VALIDATE CONSTRAINT": ("VALIDATE CONSTRAINT", ""),
    "RENAME CONSTRAINT": ("RENAME CONSTRAINT", "TO"),
    "COMMENT ON CONSTRAINT": ("COMMENT ON CONSTRAINT", "IS"),
}


@generates(AlterTableAction)
def _write_action(write: Generator, node: exp.Expression) -> str:
    before, behind = _WORDS[node.args["kind"]]
    if_exists = when(node, "exists", "IF NOT EXISTS" if before == "ADD COLUMN" else "IF EXISTS")
    is_altered = before == "ALTER COLUMN"
    return joined(
        before,
        "" if is_altered else if_exists,
        write.sql(node, "this"),
        behind,
        if_exists if is_altered else "",
        write.sql(node, "value"),
        *(write.sql(constraint) for constraint in node.args.get("constraints") or ()),
        clause(write, "USING", node, "using"),
        node.args.get("behavior") or "",
    )

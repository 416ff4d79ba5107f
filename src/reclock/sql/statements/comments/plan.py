"""COMMENT ON: the object that it names.

The comment on a constraint is part of the definition of its table or domain."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.catalog.kinds import Reference
from reclock.catalog.objects import Kind
from reclock.errors import SystemObjectProtected, UnknownColumn
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, nearest, parts
from reclock.sql.planning.registry import plans
from reclock.sql.statements.comments.syntax import CommentStatement, ConstraintCommentStatement
from reclock.sql.statements.functions.signatures import object_parts
from reclock.sql.statements.roles.plan import find_role
from reclock.sql.statements.roles.privileges_plan import place
from reclock.sql.statements.tables.alter_plan import AlterTable, alter_table
from reclock.sql.statements.tables.alter_syntax import AlterTableAction, AlterTableStatement
from reclock.sql.statements.tables.unique_indexes import comment_on_unique_index
from reclock.sql.statements.types.domains_plan import AlterDomain, alter_domain
from reclock.sql.statements.types.domains_syntax import AlterDomainStatement
from reclock.sql.syntax.consumption import tracked_copy


@plans(CommentStatement)
def comment_on(
    node: CommentStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetComment | AlterTable:
    kind: str = node.args["kind"]
    comment = _comment(node.args["text"])
    if kind == "INDEX" and catalog.find(parts(node.this), session) is None:
        unique = comment_on_unique_index(parts(node.this), comment, catalog, session)
        if unique is not None:
            return unique
    column = fold(node.args["column"]) if node.args.get("column") is not None else ""
    target, name = _target(kind, node.this, catalog, session)
    if column:
        relation = catalog.resolve(parts(node.this), session)
        if column not in relation.desc.names:
            raise UnknownColumn(
                column, relation=relation.name.item, hint=nearest(column, relation.desc.names)
            )
    text = comment.name if comment is not None else None
    return SetComment(target, name, kind.lower(), column, text)


@plans(ConstraintCommentStatement, is_definition=True)
def comment_on_constraint(
    node: ConstraintCommentStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterTable | AlterDomain:
    """The table or the domain with the comment in its definition."""
    name, on, kind = tracked_copy(node.this), node.args["on"], "COMMENT ON CONSTRAINT"
    comment = _comment(node.args["text"])
    if node.args.get("is_of_domain"):
        changed = alter_domain(
            AlterDomainStatement(this=on, action=kind, value=name, comment=comment),
            catalog,
            session,
        )
        assert isinstance(changed, AlterDomain)
        return replace(changed, built_again=(), tag="COMMENT")
    action = AlterTableAction(kind=kind, this=name, value=comment)
    altered = alter_table(AlterTableStatement(this=on, actions=[action]), catalog, session)
    assert isinstance(altered, AlterTable)
    return replace(altered, tag="COMMENT")


def _comment(text: exp.Expr) -> exp.Expr | None:
    """The comment, unless it is empty or NULL, which delete it."""
    return tracked_copy(text) if isinstance(text, exp.Literal) and text.name else None


def _target(
    kind: str, node: exp.Expr, catalog: PlannerCatalog, session: SessionNames
) -> tuple[Reference, str]:
    """The object, and its name."""
    if kind == "ROLE":
        return (Kind.ROLE, find_role(node, catalog, session).id), fold(node)
    if kind in ("CLUSTER", "SCHEMA", "DATABASE"):
        return place(kind, node, catalog, session), node.name
    assert isinstance(node, exp.Table)
    written = object_parts(node)
    entry = (
        catalog.resolve(written, session)
        if kind == "COLUMN"
        else find_object(written, kind, catalog, session)
    )
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    return (Kind.ITEM, entry.id), str(entry.name)


@dataclass(frozen=True, slots=True)
class SetComment:
    """The comment on an object, or on a ``column`` of it, becomes ``text``; None deletes it."""

    target: Reference
    name: str
    kind: str
    column: str
    text: str | None
    tag: str = "COMMENT"

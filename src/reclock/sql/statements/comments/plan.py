"""COMMENT ON: the object that it names."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from reclock.catalog.kinds import Reference
from reclock.catalog.objects import Kind
from reclock.errors import SystemObjectProtected, UnknownColumn
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, nearest, parts
from reclock.sql.planning.registry import plans
from reclock.sql.statements.comments.syntax import CommentStatement
from reclock.sql.statements.functions.signatures import object_parts
from reclock.sql.statements.roles.plan import find_role
from reclock.sql.statements.roles.privileges_plan import place


@plans(CommentStatement)
def comment_on(
    node: CommentStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetComment:
    kind: str = node.args["kind"]
    text = node.args["text"].name if isinstance(node.args["text"], exp.Literal) else None
    column = fold(node.args["column"]) if node.args.get("column") is not None else ""
    target, name = _target(kind, node.this, catalog, session)
    if column:
        relation = catalog.resolve(parts(node.this), session)
        if column not in relation.desc.names:
            raise UnknownColumn(
                column, relation=relation.name.item, hint=nearest(column, relation.desc.names)
            )
    return SetComment(target, name, kind.lower(), column, text or None)


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

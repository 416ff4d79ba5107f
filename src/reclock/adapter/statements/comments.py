"""COMMENT ON."""

from __future__ import annotations

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.objects import Comment, Kind
from reclock.sql.statements.comments.plan import SetComment


@requires(SetComment)
def _(statement: SetComment, context: AuthorizationContext) -> Requirements:
    kind, key = statement.target
    if kind is Kind.ROLE:
        return context.require(superuser_to="comment on a role")
    return context.require(owner_of=((kind, key),))


@defines(SetComment)
def _(statement: SetComment, change: CatalogChange) -> None:
    kind, key = statement.target
    comment = Comment(kind.value, str(key), statement.column, statement.text or "")
    if statement.text is not None:
        change.tx.put(comment)
    elif change.tx.snapshot.get(Kind.COMMENT, (kind.value, str(key), statement.column)) is not None:
        change.tx.delete(comment)
    change.audit("comment", statement.kind, statement.name)

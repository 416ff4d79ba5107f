"""``current_user`` and ``session_user``: constants of a statement. A definition cannot hold them, for it is everyone's."""

from __future__ import annotations

from sqlglot import exp

from reclock.sql.names import SessionNames


def with_users(node: exp.Expr, session: SessionNames) -> exp.Expr:
    """The query with the session's names in their place."""
    if node.find(exp.CurrentUser, exp.SessionUser) is None:
        return node
    changed = node.copy()
    for user in list(changed.find_all(exp.CurrentUser, exp.SessionUser)):
        is_current = isinstance(user, exp.CurrentUser)
        name = exp.Literal.string(session.current_user if is_current else session.session_user)
        text: exp.Expr = exp.Cast(this=name, to=exp.DataType.build("text"))
        if isinstance(user.parent, exp.Select) and user.arg_key == "expressions":
            text = exp.Alias(this=text, alias=exp.to_identifier("current_user" if is_current else "session_user"))
        user.replace(text)
    return changed

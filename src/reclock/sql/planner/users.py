"""What a session is asked about itself: constants of a statement. A definition cannot hold them, for it is everyone's."""

from __future__ import annotations

from sqlglot import exp

from reclock.sql.names import SERVER_VERSION, SessionNames


def with_users(node: exp.Expr, session: SessionNames) -> exp.Expr:
    """The query with the session's names in their place."""
    if not any(_is_about_session(each) for each in node.walk()):
        return node
    changed = node.copy()
    for call in [each for each in changed.find_all(exp.Anonymous) if _is_about_session(each)]:
        function = call.name.lower()
        value = exp.Cast(this=exp.Literal.string(_answer(function, session)), to=exp.DataType.build("text"))
        whole = call.parent if isinstance(call.parent, exp.Dot) and call.arg_key == "expression" else call
        is_item = isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions"
        whole.replace(exp.Alias(this=value, alias=exp.to_identifier(function)) if is_item else value)
    for user in list(changed.find_all(exp.CurrentUser, exp.SessionUser)):
        is_current = isinstance(user, exp.CurrentUser)
        name = exp.Literal.string(session.current_user if is_current else session.session_user)
        text: exp.Expr = exp.Cast(this=name, to=exp.DataType.build("text"))
        if isinstance(user.parent, exp.Select) and user.arg_key == "expressions":
            text = exp.Alias(this=text, alias=exp.to_identifier("current_user" if is_current else "session_user"))
        user.replace(text)
    return changed


_ABOUT_SESSION = ("version", "current_database", "current_schema")


def _is_about_session(node: exp.Expr) -> bool:
    if isinstance(node, exp.CurrentUser | exp.SessionUser):
        return True
    return isinstance(node, exp.Anonymous) and node.name.lower() in _ABOUT_SESSION and not node.expressions


def _answer(function: str, session: SessionNames) -> str:
    match function:
        case "version":
            return f"PostgreSQL {SERVER_VERSION} (Reclock)"
        case "current_database":
            return session.database
        case _:
            return next(iter(session.search_path), "")

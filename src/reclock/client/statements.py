"""The text of the statements that a client sends: queries at a time, and subscriptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from numbers import Integral
from typing import Any

from sqlglot import exp

from reclock.errors import InvalidOption, ReclockError, SqlSyntaxError, UnsupportedSql
from reclock.sql.statements.copy.syntax import CopyStatement
from reclock.sql.statements.subscribe.syntax import SubscribeStatement
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.nodes import QueryStatement
from reclock.sql.syntax.parse import parse

Time = int | str | datetime
"""A time in milliseconds since the Unix epoch, a moment with a time zone, or either of them as
text."""
Params = Sequence[Any] | None
"""The values of ``$1``, ``$2``, …"""

_TIME_HINT = "write milliseconds, or a moment such as 2026-11-21T10:00:00+00:00"

NO_LIMITS = "SET statement_timeout = 0; SET max_result_size = 0"
"""For statements whose rows are read one batch after the other."""


def timestamp_ms(time: Time) -> int:
    """The time in milliseconds. Raises ``InvalidOption``."""
    if isinstance(time, Integral):  # numpy's integers too
        return int(time)
    if isinstance(time, str):
        text = time.strip()
        if text.isascii() and text.isdecimal():
            return int(text)
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise InvalidOption(f'"{text}" is not a time', hint=_TIME_HINT) from None
    if not isinstance(time, datetime):
        raise InvalidOption(f"{time!r} is not a time", hint=_TIME_HINT)
    if time.tzinfo is None:
        raise InvalidOption(f"the time {time} has no time zone", hint=_TIME_HINT)
    return int(time.timestamp() * 1000)


def parameter_values(params: Params) -> list[Any]:
    """The values of ``$1``, ``$2``, …; empty for None. Raises ``InvalidOption`` for what is no
    sequence of values."""
    if params is None:
        return []
    if isinstance(params, str | bytes) or not isinstance(params, Sequence):
        kind = type(params).__name__
        hint = "pass the values of $1, $2, … as a list"
        raise InvalidOption(f"the parameters are no list of values, but {kind}", hint=hint)
    return list(params)


_OTHER_PROTOCOLS = re.compile("subscribe|copy", re.IGNORECASE)
"""Key words of statements that do not answer with rows, or not with a last one."""


def statement_text(text: str, as_of: Time | None) -> str:
    """The text to send for ``Client.sql``. Raises ``UnsupportedSql`` for statements that it cannot
    run, and for ``as_of`` what ``query_text`` raises.

    A text is parsed only if it could have such a statement: the session parses it anyway, and a
    long INSERT takes as long to parse as to run.
    """
    for statement in parse(text) if _OTHER_PROTOCOLS.search(text) else ():
        if isinstance(statement.node, SubscribeStatement):
            raise UnsupportedSql(
                "sql() cannot run SUBSCRIBE, which does not end", hint="use subscribe()"
            )
        if isinstance(statement.node, CopyStatement) and statement.node.args.get("files") is None:
            raise UnsupportedSql(
                "sql() can run COPY only into files", hint="use psql or reclock sql"
            )
    return text if as_of is None else query_text(text, as_of)


def query_text(text: str, as_of: Time | None) -> str:
    """The text of a query at ``as_of``. Raises what parsing raises, and ``InvalidOption`` if it is
    not one query."""
    statements = parse(text)
    if len(statements) != 1 or not isinstance(statements[0].node, QueryStatement):
        raise InvalidOption(
            "as_of needs one query" if as_of is not None else "batches() needs one query"
        )
    if as_of is None:
        return statements[0].text
    if statements[0].node.args.get("as_of") is not None:
        raise InvalidOption("the query has an AS OF clause already")
    return f"{statements[0].text}\nAS OF {timestamp_ms(as_of)}"


def relation_name(name: str) -> str:
    """The name as SQL writes it. Raises ``SqlSyntaxError`` if ``name`` is not the name of one
    relation."""
    try:
        statements = parse(f"SUBSCRIBE {name}")
    except SqlSyntaxError:
        statements = []
    node = statements[0].node if len(statements) == 1 else None
    table = node.this if isinstance(node, SubscribeStatement) else None
    if (
        node is None
        or not isinstance(table, exp.Table)
        or any(v is not None for k, v in node.args.items() if k != "this")
    ):
        raise SqlSyntaxError(f'"{name}" is not the name of a relation')
    return to_sql(table)


@dataclass(frozen=True, slots=True)
class ChangesRequest:
    """What ``Client.subscribe`` asks for. ``target`` is a query or the name of a relation."""

    target: str
    params: Params = None
    as_of: Time | None = None
    up_to: Time | None = None
    snapshot: bool = True
    has_progress: bool = True
    """Whether a row follows the changes that complete a time."""

    def text(self) -> str:
        """The ``SUBSCRIBE`` statement. Raises what parsing raises, and ``InvalidOption``."""
        options = (
            f"WITH (SNAPSHOT = {str(self.snapshot).lower()}, PROGRESS = "
            f"{str(self.has_progress).lower()})"
        )
        as_of = "" if self.as_of is None else f" AS OF {timestamp_ms(self.as_of)}"
        up_to = "" if self.up_to is None else f" UP TO {timestamp_ms(self.up_to)}"
        return f"SUBSCRIBE {self._source()} {options}{as_of}{up_to}"

    def _source(self) -> str:
        try:
            return relation_name(self.target)
        except ReclockError:
            statements = parse(self.target)
        if len(statements) != 1 or not isinstance(statements[0].node, QueryStatement):
            raise InvalidOption("only a relation or a query has changes")
        if statements[0].node.args.get("as_of") is not None:
            raise InvalidOption("the query has an AS OF clause", hint="pass as_of instead")
        return f"(\n{statements[0].text}\n)"

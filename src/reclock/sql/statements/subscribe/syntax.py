"""SUBSCRIBE, and TAIL, as it was called once."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, when, writes


class SubscribeStatement(Statement):
    """Of a relation (``this``) or of a ``query``; ``as_of`` and ``up_to`` are ``AsOfClause``; ``snapshot`` and ``progress`` are
    booleans.

    ``envelope`` is a name, with identifiers as ``key``; or there is an ``order`` instead.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "query": False,
        "snapshot": False,
        "progress": False,
        "as_of": False,
        "up_to": False,
        "envelope": False,
        "key": False,
        "order": False,
    }


@writes(SubscribeStatement)
def _write_subscribe(write: Generator, node: exp.Expression) -> str:
    what = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    options = ", ".join(f"{name.upper()} = {write.sql(node, name)}" for name in ("snapshot", "progress") if node.args.get(name))
    up_to = write.sql(node, "up_to").removeprefix("AS OF ")
    key = ", ".join(write.sql(each) for each in node.args.get("key") or ())
    return joined(
        "SUBSCRIBE TO",
        what,
        options and f"WITH ({options})",
        write.sql(node, "as_of"),
        up_to and f"UP TO {up_to}",
        key and f"ENVELOPE {node.args['envelope']} (KEY ({key}))",
        when(node, "order", f"WITHIN TIMESTAMP {write.sql(node, 'order').strip()}"),
    )

"""System relations that are views: one file of SQL each, ``sql/<schema>/<relation>.sql``.

A comment of a name and a type, after an output column or on a line of its own, declares the next
column of the relation; ``!`` after the name marks the columns of its key. ``columns of <view>``
declares those of a view before it. Other comments are for readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files

from reclock.algebra.object_ids import type_rows
from reclock.algebra.relations import LETTER, TEXT, Column, RelationDesc
from reclock.introspection.relation import Builtin

TYPES = {str(row.type): row.type for row in type_rows()} | {str(LETTER): TEXT}
"""Every type by its name in SQL."""

_COMMENT = re.compile(r"[ \t]*-- (.*)$", re.MULTILINE)
_SAME_COLUMNS = re.compile(r"-- columns of (\w+)$", re.MULTILINE)


def views(schema: str, *names: str) -> tuple[Builtin, ...]:
    """The views of ``schema`` with these names, in this order."""
    folder = files("reclock.introspection").joinpath("sql", schema)
    built: dict[str, Builtin] = {}
    for name in names:
        text = folder.joinpath(f"{name}.sql").read_text()
        same = _SAME_COLUMNS.search(text)
        desc = _declared_columns(text) if same is None else built[same[1]].desc
        built[name] = Builtin(schema, name, desc, query=_COMMENT.sub("", text).strip())
    return tuple(built.values())


def parse_columns(declarations: Iterable[str]) -> RelationDesc:
    """Columns from declarations ``name type``, or ``name! type`` for a column of the key."""
    columns, key = [], []
    for declaration in declarations:
        name, type = declaration.split(maxsplit=1)
        limit = LETTER if type == str(LETTER) else None
        columns.append(Column(name.rstrip("!"), TYPES[type], limit=limit))
        if name.endswith("!"):
            key.append(columns[-1].name)
    return RelationDesc(tuple(columns), tuple(key) or None)


def _declared_columns(text: str) -> RelationDesc:
    return parse_columns(comment for comment in _COMMENT.findall(text) if _declares_column(comment))


def _declares_column(comment: str) -> bool:
    name, _, type = comment.partition(" ")
    return name.rstrip("!").isidentifier() and type in TYPES

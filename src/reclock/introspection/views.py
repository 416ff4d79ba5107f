"""System relations that are views: one file of SQL each, ``sql/<schema>/<relation>.sql``.

A comment of a name and a type, behind an output column or on a line of its own, declares the next
column of the relation; ``!`` behind the name marks the columns of its key. Other comments are for
readers.
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


def views(schema: str, *names: str) -> tuple[Builtin, ...]:
    """The views of ``schema`` with these names, in this order."""
    folder = files("reclock.introspection").joinpath("sql", schema)
    return tuple(_view(schema, name, folder.joinpath(f"{name}.sql").read_text()) for name in names)


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


def _view(schema: str, name: str, text: str) -> Builtin:
    declarations = [comment for comment in _COMMENT.findall(text) if _declares_column(comment)]
    return Builtin(schema, name, parse_columns(declarations), query=_COMMENT.sub("", text).strip())


def _declares_column(comment: str) -> bool:
    name, _, type = comment.partition(" ")
    return name.rstrip("!").isidentifier() and type in TYPES

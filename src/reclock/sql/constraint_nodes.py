"""The constraints that CREATE TABLE declares."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class TableConstraint(exp.Expression):
    """``this`` is the name, if one is written, and ``kind`` is ``PRIMARY KEY``, ``UNIQUE``, ``FOREIGN KEY`` or ``CHECK``.

    The constraint of a column is parsed to that of the table with this one column. ``on_delete``, ``on_update``, ``match`` and
    ``deferrable`` are words as written, upper case.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "kind": True,
        "columns": False,
        "are_nulls_equal": False,
        "target": False,
        "target_columns": False,
        "match": False,
        "on_delete": False,
        "on_update": False,
        "check": False,
        "deferrable": False,
        "is_not_enforced": False,
    }

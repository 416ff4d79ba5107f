"""What a statement tells its client beside its answer."""

from __future__ import annotations


class SqlWarning(str):
    """A notice of the severity WARNING, with PostgreSQL's SQLSTATE for it. Other notices are plain
    texts, and have the severity NOTICE."""

    __slots__ = ("sqlstate",)

    def __new__(cls, message: str, sqlstate: str) -> SqlWarning:
        warning = super().__new__(cls, message)
        warning.sqlstate = sqlstate
        return warning

    sqlstate: str


def outside_block(statement: str) -> SqlWarning:
    """The statement has no effect outside a transaction block."""
    return SqlWarning(f"{statement} can only be used in transaction blocks", "25P01")

"""Errors that a server reports."""

from __future__ import annotations

import psycopg

from reclock.errors import ReclockError


class ServerError(ReclockError):
    """An error that a server reported, with its SQLSTATE; or the connection to it failed
    (``08006``). ``position`` counts the characters of the statements from 1."""

    def __init__(self, error: psycopg.Error) -> None:
        diagnosis = error.diag
        super().__init__(
            diagnosis.message_primary or str(error).strip(),
            detail=diagnosis.message_detail,
            hint=diagnosis.message_hint,
        )
        position = diagnosis.statement_position
        self.position = int(position) if position else None
        self.sqlstate = error.sqlstate or "08006"

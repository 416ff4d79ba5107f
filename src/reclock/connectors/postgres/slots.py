"""Replication slots. Creating one waits for the upstream's open transactions, for a bounded time;
the error then names them."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.pq import ExecStatus

from reclock.errors import UpstreamBusy

PATIENCE_S = 30.0
"""How long one step waits for open transactions. The next step starts over. If transactions always
stay open for longer, the server never gets a slot."""

_CANCEL_S = 10
_LOCK_MS = 5_000

_OPEN: LiteralString = """
    SELECT format('pid %s', pid) || COALESCE(format(' of user "%s"', usename), '')
        || COALESCE(format(' in database "%s"', datname), '') || COALESCE(format(', open since %s', xact_start), '')
    FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
    UNION ALL
    SELECT format('the prepared transaction "%s" of user "%s", open since %s', gid, owner, prepared) FROM pg_prepared_xacts
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot that released all before ``confirmed``, and more if it ``is_lost``."""

    confirmed: int
    is_lost: bool


def create_slot(
    walsender: psycopg.Connection[Any], connection: psycopg.Connection[Any], slot: str
) -> tuple[str, str]:
    """The LSN at which the slot's changes begin, and the name of the snapshot of the state before.
    The snapshot lasts until the next command of ``walsender``.

    The server waits for the end of every transaction that is open now. Raises ``UpstreamBusy`` if
    that takes longer than ``PATIENCE_S``; then there is no slot.
    """
    command = sql.SQL("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT").format(
        sql.Identifier(slot)
    )
    walsender.pgconn.send_query(command.as_bytes(walsender))  # it takes simple queries only
    is_late = not _answers(walsender, PATIENCE_S)
    if is_late:
        busy = [str(row[0]) for row in connection.execute(_OPEN).fetchall()]
        walsender.cancel_safe(timeout=_CANCEL_S)
    result = walsender.pgconn.get_result()
    while walsender.pgconn.get_result() is not None:  # the end of the answer
        pass
    if result is None or result.status != ExecStatus.TUPLES_OK:
        if is_late:
            raise UpstreamBusy(slot, busy)
        raise psycopg.OperationalError(
            result.error_message.decode() if result is not None else "the server did not answer"
        )
    lsn, snapshot = result.get_value(0, 1), result.get_value(0, 2)
    assert lsn is not None
    assert snapshot is not None
    return lsn.decode(), snapshot.decode()


def _answers(connection: psycopg.Connection[Any], patience_s: float) -> bool:
    """Whether the server answers the command within ``patience_s``."""
    deadline = time.monotonic() + patience_s
    while connection.pgconn.is_busy():
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        readable, _, _ = select.select([connection.pgconn.socket], [], [], left_s)
        if readable:
            connection.pgconn.consume_input()
    return True


def find_slot(connection: psycopg.Connection[Any], slot: str) -> Slot | None:
    """The slot; None if the server has none of that name."""
    query = (
        "SELECT confirmed_flush_lsn::text, wal_status = 'lost' FROM pg_replication_slots "
        "WHERE slot_name = %s"
    )
    row = connection.execute(query, [slot]).fetchone()
    return None if row is None else Slot(parse_lsn(row[0]), row[1])


def retained_bytes(connection: psycopg.Connection[Any], slot: str) -> int | None:
    """The bytes of WAL that the server keeps for the slot; None if it has no such slot, or keeps
    nothing for it any more."""
    query = (
        "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint "
        "FROM pg_replication_slots WHERE slot_name = %s AND wal_status <> 'lost'"
    )
    row = connection.execute(query, [slot]).fetchone()
    return None if row is None else row[0]


def lock_slot(connection: psycopg.Connection[Any], slot: str) -> None:
    """Keep others from creating or dropping the slot while this connection lasts."""
    key = int.from_bytes(sha256(slot.encode()).digest()[:8], "big", signed=True)
    connection.execute(
        sql.SQL("SET lock_timeout = {}; SELECT pg_advisory_lock({}); RESET lock_timeout").format(
            _LOCK_MS, key
        )
    )


def parse_lsn(text: str) -> int:
    """The LSN in PostgreSQL's notation, as a number."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def format_lsn(lsn: int) -> str:
    """The LSN in PostgreSQL's notation."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"

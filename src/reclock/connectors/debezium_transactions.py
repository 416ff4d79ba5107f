"""What Debezium's messages say about transactions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from reclock.definitions.formats import Format
from reclock.errors import DecodeFailed
from reclock.formats.envelope import event_of
from reclock.formats.values import Unreadable
from reclock.reclocking.transactions import Event, TransactionEnd


def transaction_end(
    value: bytes | None, format: Format, partition: str, offset: int, outputs: Iterable[str]
) -> TransactionEnd | None:
    """The transaction that an entry of the transaction topic ends, with the number of its events in
    each of the ``outputs``; None if it ends none. Raises ``DecodeFailed``."""
    entry = _event_of(value, format, partition, offset)
    try:
        if entry is None or entry["status"] != "END":
            return None
        counts = {
            collection["data_collection"]: int(collection["event_count"])
            for collection in entry.get("data_collections") or ()
        }
        counts = {output: _count(output, counts) for output in outputs}
        return TransactionEnd(_stem(entry["id"]), offset, counts)
    except (KeyError, TypeError, ValueError) as error:
        detail = "it is no entry of a transaction topic"
        raise DecodeFailed(partition, offset, detail=detail, unit="offset") from error


def event_at(value: bytes | None, format: Format, partition: str, offset: int) -> Event:
    """The event of a table, with its transaction. Raises ``DecodeFailed``."""
    document = _event_of(value, format, partition, offset)
    transaction = document.get("transaction") if document is not None else None
    if transaction is None:
        return Event(offset)
    try:
        return Event(offset, _stem(transaction["id"]), int(transaction["total_order"]))
    except (KeyError, TypeError, ValueError) as error:
        detail = "its transaction is not Debezium's"
        raise DecodeFailed(partition, offset, detail=detail, unit="offset") from error


def _event_of(
    value: bytes | None, format: Format, partition: str, offset: int
) -> Mapping[str, Any] | None:
    try:
        return event_of(value, format)
    except Unreadable as failure:
        raise DecodeFailed(
            partition, offset, detail=failure.reason, unit="offset", remedy=failure.remedy
        ) from failure


def _stem(id: str) -> str:
    """The part of a transaction id that its events and its end share. PostgreSQL's ids also have an
    LSN, which differs between them."""
    return sys.intern(str(id).partition(":")[0])  # all events of the transaction have it


def _count(output: str, counts: Mapping[str, int]) -> int:
    """How many events of a table a transaction has. The names of data collections may begin with
    the database's name, as SQL Server's do."""
    table, _, _ = output.partition("@")
    return next(
        (count for name, count in counts.items() if name == table or name.endswith(f".{table}")), 0
    )

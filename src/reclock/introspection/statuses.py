"""How sources, indexes and sinks are doing, as relations: the present status of each, and those it had."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import TEXT, TIMESTAMPTZ
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import ItemType
from reclock.introspection.relation import SUBSOURCE, Builtin, Rows, SystemState, desc

_STATUS = desc(id=TEXT, name=TEXT, status=TEXT, error=TEXT, detail=TEXT, hint=TEXT, updated_at=TIMESTAMPTZ)


def _row(id: str, name: str, status: str, at: Timestamp, *error: str | None) -> tuple[object, ...]:
    return id, name, status, *(error or (None, None, None)), datetime.fromtimestamp(at / 1000, UTC)


def _current(type: ItemType, state: SystemState) -> Rows:
    """One that nobody has worked on yet is ``created``. A subsource has a status only where it differs from its source's."""
    known = {status.name for status in state.statuses()}
    for item in state.catalog.items.values():
        if item.type is type and item.id not in known and state.source_types.get(item.id) != SUBSOURCE:
            yield _row(item.id, item.name, "created", item.created_at)
    yield from _reported(type, state, is_history=False)


def _reported(type: ItemType, state: SystemState, *, is_history: bool) -> Iterator[tuple[object, ...]]:
    for status in state.status_history() if is_history else state.statuses():
        item = state.catalog.items.get(GlobalId(status.name))
        if item is not None and item.type is type:
            yield _row(item.id, item.name, status.status, status.at, status.error, status.detail, status.hint)


STATUSES = tuple(
    builtin
    for type in (ItemType.SOURCE, ItemType.INDEX, ItemType.SINK)
    for builtin in (
        Builtin("mz_internal", f"mz_{type}_statuses", _STATUS, partial(_current, type)),
        Builtin("mz_internal", f"mz_{type}_status_history", _STATUS, partial(_reported, type, is_history=True)),
    )
)

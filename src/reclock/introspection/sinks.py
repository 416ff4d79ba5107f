"""The system relations about sinks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, OID, TEXT, TIMESTAMPTZ
from reclock.catalog.objects import ItemType
from reclock.consensus.statuses import Status
from reclock.introspection.relation import Builtin, Rows, State, desc

_STATUS = desc(id=TEXT, name=TEXT, status=TEXT, error=TEXT, detail=TEXT, hint=TEXT, updated_at=TIMESTAMPTZ)


def _sinks(state: State) -> Rows:
    for id, facts in state.sinks.items():
        item = state.catalog.items[id]
        yield (
            id,
            object_oid(id),
            item.schema_id,
            item.name,
            facts.type,
            facts.envelope,
            facts.on_id,
            facts.cluster_id,
            item.owner_role_id,
            item.create_sql,
        )


def _statuses(state: State, statuses: Iterable[Status]) -> Rows:
    for status in statuses:
        item = state.catalog.items.get(GlobalId(status.name))
        if item is not None and item.type is ItemType.SINK:
            moment = datetime.fromtimestamp(status.at / 1000, UTC)
            yield status.name, item.name, status.status, status.error, status.detail, status.hint, moment


SINKS: tuple[Builtin, ...] = (
    Builtin(
        "mz_catalog",
        "mz_sinks",
        desc(
            "oid",
            id=TEXT,
            oid=OID,
            schema_id=BIGINT,
            name=TEXT,
            type=TEXT,
            envelope_type=TEXT,
            on_id=TEXT,
            cluster_id=BIGINT,
            owner_id=TEXT,
            create_sql=TEXT,
        ),
        _sinks,
    ),
    Builtin("mz_internal", "mz_sink_statuses", _STATUS, lambda state: _statuses(state, state.statuses())),
    Builtin("mz_internal", "mz_sink_status_history", _STATUS, lambda state: _statuses(state, state.status_history())),
)

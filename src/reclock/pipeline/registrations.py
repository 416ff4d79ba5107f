"""Registers the tables of Delta sinks in Hive metastores, by name. It compares what the catalog
wants with what is registered, and changes the difference; so it can be repeated by any process.

No emission and no tick waits for a metastore: a process has a thread for this work. What failed is
retried, and ``mz_sink_registrations`` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import structlog

from reclock.adapter.statements.sinks import sinks
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.connectors import hive_metastore
from reclock.consensus.objects.registrations import RegisteredTable, TableEntry
from reclock.controllers.implied import is_dropped, sink_spec
from reclock.definitions.sinks import DeltaTarget
from reclock.errors import ReclockError, known_failure
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog

RETRY_AFTER_MS = 60_000
"""How long ticks wait before they retry a metastore that failed. Maintenance retries all."""

_log = structlog.get_logger(__name__)


def begin(environment: Environment) -> None:
    """`reconcile` in the background, if something is due and this process is not at it already.
    Closing the environment waits for it."""
    if _due(environment, is_verified=False):
        work = {"registrations": lambda: reconcile(environment)}
        environment.runtime.registrations.run_all(work, patience_s=0)


def reconcile(environment: Environment, *, is_verified: bool = False) -> int:
    """Register, change, rename and drop what is due. Returns how many tables failed. If it
    ``is_verified``, metastores are also asked about tables that are registered, and those that
    failed just now."""
    return sum(
        not _carry_out(environment, table, is_wanted)
        for table, is_wanted in _due(environment, is_verified)
    )


def _due(environment: Environment, is_verified: bool) -> list[tuple[RegisteredTable, bool]]:
    stores = environment.stores
    recorded = stores.registrations.get_all()
    catalog = stores.planner_catalog()
    wanted = dict(_wanted(environment, catalog, recorded))
    assert catalog.snapshot is not None
    snapshot = catalog.snapshot
    kept = {id for id in recorded if not is_dropped(snapshot, id)} | {
        sink.sink.continues.creator for sink in sinks(catalog) if sink.sink.continues
    }
    return list(due(wanted, recorded, kept, stores.clock(), is_verified=is_verified))


def due(
    wanted: Mapping[str, tuple[str, TableEntry]],
    recorded: Mapping[str, RegisteredTable],
    existing: set[str],
    now: Timestamp,
    *,
    is_verified: bool = False,
) -> Iterator[tuple[RegisteredTable, bool]]:
    """The registrations to work on, and whether each is wanted or to be dropped. ``wanted`` has the
    names and entries of sinks. A sink that is in neither of ``wanted`` and ``existing`` was
    dropped."""

    def is_due(table: RegisteredTable) -> bool:
        return is_verified or table.error is None or table.at + RETRY_AFTER_MS <= now

    for id, (sink, entry) in wanted.items():
        table = recorded.get(id)
        if table is None:
            yield RegisteredTable(id, sink, entry, now), True
        elif (table.sink, table.entry) != (sink, entry):
            former = (*table.former, table.entry)
            yield RegisteredTable(id, sink, entry, now, former), True
        elif is_verified or (not table.is_registered and is_due(table)):
            yield table, True
    for id, table in recorded.items():
        if id not in wanted and id not in existing and is_due(table):
            yield replace(table, is_registered=False), False


def _wanted(
    environment: Environment, catalog: PlannerCatalog, recorded: Mapping[str, RegisteredTable]
) -> Iterator[tuple[str, tuple[str, TableEntry]]]:
    """The sinks whose tables are there and are to be registered, with their entries."""
    stores, root = environment.stores, environment.stores.settings.sinks_root.rstrip("/")
    root = root.replace("s3://", "s3a://", 1) if "://" in root else f"file:{root}"
    for sink in sinks(catalog):
        target = sink.sink.target
        if not isinstance(target, DeltaTarget) or target.registration is None:
            continue
        spec = sink_spec(catalog, sink.id)
        if spec.creator not in recorded:
            frontier = stores.frontiers.get_all([sink.id]).get(sink.id)
            if frontier is None or frontier.since <= spec.created_at:
                continue  # it has written nothing
        registration = target.registration
        entry = TableEntry(
            str(dict(registration.connection.options)["URL"]),
            registration.namespace or sink.name.schema,
            registration.table or sink.name.item,
            f"{root}/{target.path}",
            hive_metastore.columns(arrow_schema(spec.desc, with_updates=False)),
            f"{stores.mark.id}/{spec.creator}",
        )
        yield spec.creator, (str(sink.name), entry)


def _carry_out(environment: Environment, table: RegisteredTable, is_wanted: bool) -> bool:
    """Whether it succeeded."""
    registrations, now = environment.stores.registrations, environment.stores.clock()
    if is_wanted and not table.is_registered:
        registrations.put(table)  # so that it is dropped, whatever happens to this process
    try:
        if is_wanted:
            for former in table.former:
                if former.url != table.entry.url:
                    hive_metastore.drop(former)
            hive_metastore.put(table.entry, table.former)
        else:
            for entry in (table.entry, *table.former):
                hive_metastore.drop(entry)
    except Exception as failure:  # one table's trouble is not the others'
        error = failure if isinstance(failure, ReclockError) else known_failure(failure)
        failed = replace(
            table,
            is_registered=False,
            error=error.message if error else str(failure),
            detail=error.detail if error else type(failure).__name__,
            hint=(error.hint if error else None) or _HINT,
            at=now,
        )
        registrations.put(failed)
        _log.warning(
            "registration of a table failed; it will be retried",
            sink=table.sink,
            table=table.entry.name,
            error=failed.error,
            detail=failed.detail,
            hint=failed.hint,
        )
        return False
    if not is_wanted:
        registrations.forget(table.sink_id)
    elif not table.is_registered or table.error:
        done = RegisteredTable(table.sink_id, table.sink, table.entry, now, is_registered=True)
        registrations.put(done)
    return True


_HINT = "it is tried again every minute; the sink goes on writing"

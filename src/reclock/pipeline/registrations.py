"""Registers the tables of Delta sinks in Hive metastores, by name. It compares what the catalog
wants with what is registered, and changes the difference; so it can be repeated by any process, and
several may do it at once.

No emission and no tick waits for a metastore: a process has a thread for this work. What failed is
retried, and ``mz_sink_registrations`` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import structlog

from reclock.adapter.statements.sinks import sinks
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import shown_schema
from reclock.connectors import hive_metastore
from reclock.consensus.objects.registrations import RegisteredTable, TableEntry
from reclock.controllers.implied import is_dropped, sink_spec
from reclock.definitions.sinks import DeltaTarget
from reclock.errors import ReclockError, known_failure
from reclock.failpoints import failpoint
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


@dataclass(frozen=True, slots=True)
class DueTable:
    """A registration to work on. ``table`` is what it will be, or, unless it ``is_wanted``, what is
    dropped; ``recorded`` what consensus has of it, if anything."""

    table: RegisteredTable
    is_wanted: bool
    recorded: RegisteredTable | None


def reconcile(environment: Environment, *, is_verified: bool = False) -> int:
    """Register, change, rename and drop what is due. Returns how many tables failed. If it
    ``is_verified``, metastores are also asked about tables that are registered, and those that
    failed just now."""
    return sum(not _carry_out(environment, due) for due in _due(environment, is_verified))


def _due(environment: Environment, is_verified: bool) -> list[DueTable]:
    stores = environment.stores
    recorded = stores.registrations.get_all()
    catalog = stores.planner_catalog()
    entries = dict(_entries_of_sinks(environment, catalog, recorded))
    assert catalog.snapshot is not None
    snapshot = catalog.snapshot
    existing = {id for id in recorded if not is_dropped(snapshot, id)} | {
        sink.sink.continues.creator for sink in sinks(catalog) if sink.sink.continues
    }
    return list(due(entries, recorded, existing, stores.clock(), is_verified=is_verified))


def due(
    entries: Mapping[str, tuple[str, TableEntry]],
    recorded: Mapping[str, RegisteredTable],
    existing: set[str],
    now: Timestamp,
    *,
    is_verified: bool = False,
) -> Iterator[DueTable]:
    """The registrations to work on, those to be dropped first, because another sink may want the
    name. ``entries`` has the names and entries of sinks. A sink that is neither in ``entries`` nor
    ``existing`` was dropped."""

    def is_due(table: RegisteredTable) -> bool:
        return is_verified or table.error is None or table.at + RETRY_AFTER_MS <= now

    for id, table in recorded.items():
        if id not in entries and id not in existing and is_due(table):
            yield DueTable(replace(table, is_registered=False), False, table)
    for id, (sink, entry) in entries.items():
        present = recorded.get(id)
        if present is None:
            yield DueTable(RegisteredTable(id, sink, entry, now), True, None)
        elif (present.sink, present.entry) != (sink, entry):
            former = (*present.former, present.entry)
            yield DueTable(RegisteredTable(id, sink, entry, now, former), True, present)
        elif is_verified or (not present.is_registered and is_due(present)):
            yield DueTable(present, True, present)


def _entries_of_sinks(
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
            hive_metastore.columns(shown_schema(spec.desc)),
            f"{stores.mark.id}/{spec.creator}",
        )
        yield spec.creator, (str(sink.name), entry)


def _carry_out(environment: Environment, due: DueTable) -> bool:
    """Whether it succeeded, or another process is at it."""
    registrations, now = environment.stores.registrations, environment.stores.clock()
    table, recorded = due.table, due.recorded
    if due.is_wanted and table != recorded:
        # before the metastore has it, so that it is dropped, whatever happens to this process
        record = partial(_before_work, recorded, table)
        if registrations.update(table.sink_id, record) != table:
            return True
        failpoint("registrations.recorded")
        recorded = table
    outcome = _at_metastore(table, is_wanted=due.is_wanted, now=now)
    registrations.update(table.sink_id, partial(concluded, recorded, table, outcome))
    return outcome is None or outcome.error is None


def _at_metastore(
    table: RegisteredTable, *, is_wanted: bool, now: Timestamp
) -> RegisteredTable | None:
    """Make the metastore have the table, or drop it there. Returns what to record: None for a table
    that was dropped."""
    try:
        if not is_wanted:
            for entry in (table.entry, *table.former):
                hive_metastore.drop(entry)
            return None
        for former in table.former:
            if former.url != table.entry.url:
                hive_metastore.drop(former)
        hive_metastore.put(table.entry, table.former)
    except Exception as failure:  # one table's trouble is not the others'
        failed = _failed(table, failure, now)
        _log.warning(
            "registration of a table failed; it will be retried",
            sink=table.sink,
            table=table.entry.name,
            error=failed.error,
            detail=failed.detail,
            hint=failed.hint,
        )
        return failed
    if table.is_registered and not table.error:
        return table
    return RegisteredTable(table.sink_id, table.sink, table.entry, now, is_registered=True)


def _failed(table: RegisteredTable, failure: Exception, now: Timestamp) -> RegisteredTable:
    error = failure if isinstance(failure, ReclockError) else known_failure(failure)
    return replace(
        table,
        is_registered=False,
        error=error.message if error else str(failure),
        detail=error.detail if error else type(failure).__name__,
        hint=(error.hint if error else None) or _HINT,
        at=now,
    )


def _before_work(
    recorded: RegisteredTable | None, table: RegisteredTable, current: RegisteredTable | None
) -> RegisteredTable | None:
    """What to record before the work on ``table``, unless another process began it."""
    return table if current == recorded else current


def concluded(
    recorded: RegisteredTable | None,
    table: RegisteredTable,
    outcome: RegisteredTable | None,
    current: RegisteredTable | None,
) -> RegisteredTable | None:
    """What to record after the work on ``table``, if the registration was ``recorded`` when it
    began, and is ``current`` now.

    Another process may have gone on to another entry in between, or have dropped this one, before
    this process made it. Then all entries are recorded, so that the next reconciliation drops those
    that are not wanted.
    """
    if current == recorded or outcome is None:
        return outcome if current == recorded else current
    if current is not None and current.is_registered and current.entry == table.entry:
        return current
    base = current or table
    entries = dict.fromkeys((*base.former, *table.former, table.entry))
    return replace(
        base,
        former=tuple(entry for entry in entries if entry != base.entry),
        is_registered=False,
        error=None,
        detail=None,
        hint=None,
    )


_HINT = "it is tried again every minute; the sink goes on writing"

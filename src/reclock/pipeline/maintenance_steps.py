"""The steps of the DAG ``reclock_maintenance``, as ``reclock.pipeline.dag_steps`` has those of
``reclock_tick``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from reclock.pipeline import maintenance
from reclock.pipeline.counts import counted
from reclock.pipeline.tick_reports import TickFailure
from reclock.runtime.environment import Environment

Tell = Callable[[str], None]


def sweep(environment: Environment, *, tell: Tell) -> dict[str, Any]:
    """Delete what dropped objects and ended readers left behind. Returns how much of each."""
    report = asdict(maintenance.sweep(environment))
    report["orphans"] = [str(collection) for collection in report["orphans"]]
    deleted = {"collections of dropped objects": len(report["orphans"])} | {
        kind.replace("_", " "): count for kind, count in report.items() if isinstance(count, int)
    }
    tell(", ".join(f"{kind}: {count:,}" for kind, count in deleted.items()))
    return report


def list_groups(environment: Environment, *, tell: Tell) -> list[dict[str, str]]:
    """The frontier groups that need maintenance: what ``ReclockMaintainOperator`` maps over."""
    names = maintenance.group_names(environment.stores)
    tell(counted(len(names), "frontier group"))
    return [{"group": group, "object_name": name} for group, name in names.items()]


def maintain(environment: Environment, *, group: str, tell: Tell) -> dict[str, Any]:
    """Let since follow the upper, then compact, checkpoint and vacuum the collections of one
    source or index. What ``failed`` keeps no other collection from it."""
    report = maintenance.maintain(environment.stores, group)
    for collection in report.collections:
        tell(
            f"{collection.collection}: {collection.files_before} to "
            f"{counted(collection.files_after, 'file')}, "
            f"{counted(collection.freed_bytes, 'byte')} freed"
        )
    return {
        "since": [report.since_before, report.since_after],
        "files": {
            str(collection.collection): [collection.files_before, collection.files_after]
            for collection in report.collections
        },
        "freed_bytes": sum(collection.freed_bytes for collection in report.collections),
        "failed": [asdict(TickFailure.of(name, error)) for name, error in report.failed.items()],
    }


def record_storage_usage(environment: Environment, *, tell: Tell) -> int:
    """Record the size of each collection in the catalog. Returns the sum of bytes."""
    stored_bytes = maintenance.record_usage(environment.stores)
    tell(f"{counted(stored_bytes, 'byte')} in all collections")
    return stored_bytes


def compact_catalog(environment: Environment, *, tell: Tell) -> int:
    """Delete the catalog's history that is older than its retention. Returns how many updates."""
    deleted = maintenance.compact_catalog(environment.stores)
    tell(f"{counted(deleted, 'update')} deleted from the history of the catalog")
    return deleted

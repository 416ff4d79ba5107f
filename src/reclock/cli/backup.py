"""``reclock backup`` and ``reclock restore``: both stores, as they were at one time."""

from __future__ import annotations

from pathlib import Path

from reclock.errors import EnvironmentIsCopy
from reclock.runtime.environment import Environment


def run_backup(home: Path | None, to: Path) -> None:
    """Back up beside running writers, and print what was copied."""
    from reclock.pipeline.backup import back_up
    from reclock.pipeline.counts import counted

    with Environment.open(home) as environment:
        report = back_up(environment.stores, to)
    print(
        f'"{report.folder}" holds {counted(report.collections, "collection")} '
        f"({report.size_bytes} bytes) as of {report.time}"
    )


def run_restore(home: Path | None, backup: Path, *, may_replace: bool) -> None:
    """Restore the backup, and print its time and the new epoch; of a copy also what it does not
    do."""
    from reclock.pipeline.restore import restore

    report = restore(backup, home, may_replace=may_replace)
    print(
        f"restored as of {report.time}, at epoch {report.epoch}; processes of earlier "
        "epochs must be started again"
    )
    if report.is_copy:
        copy = EnvironmentIsCopy()
        print(f"{copy.message}: {copy.detail}\n{copy.hint}")

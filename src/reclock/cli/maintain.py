"""``reclock maintain``: one run of maintenance, with a report on each collection."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.algebra.relations import BIGINT, TEXT, Column, RelationDesc
from reclock.cli.output import Format, error_lines, print_result
from reclock.pipeline import maintenance
from reclock.pipeline.maintenance import MaintenanceReport
from reclock.runtime.environment import Environment

_NUMBERS = ("since before", "since after", "files before", "files after", "bytes freed")
_DESC = RelationDesc(
    (
        Column("object", TEXT),
        Column("collection", TEXT),
        *(Column(name, BIGINT) for name in _NUMBERS),
    )
)


def run_maintenance(home: Path | None, *, is_json: bool = False) -> bool:
    """True if maintenance of anything failed; standard error names it."""
    with Environment.open(home) as environment:
        report = maintenance.run(environment)
    print_result(_table(report), Format.JSON if is_json else Format.TABLE)
    if not is_json:
        print(f"{report.stored_bytes} bytes in all collections")
        print(f"{report.catalog_updates} updates deleted from the history of the catalog")
    for name, error in report.failed.items():
        print(f"{name}:", *error_lines(error), sep="\n  ", file=sys.stderr)
    return bool(report.failed)


def _table(report: MaintenanceReport) -> Result:
    rows = [
        (
            group.name,
            str(compaction.collection),
            group.since_before,
            group.since_after,
            compaction.files_before,
            compaction.files_after,
            compaction.freed_bytes,
        )
        for group in report.groups
        for compaction in group.collections
    ]
    table = pa.Table.from_pylist([dict(zip(_DESC.names, row, strict=True)) for row in rows])
    return Result("MAINTAIN", _DESC, table.to_batches())

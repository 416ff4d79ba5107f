"""Correcting the updates at one time of a collection, before that time is published."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.collection import Collection
from reclock.collections.files import StagedFile, write_file
from reclock.collections.folder import DATA, rewrite_name
from reclock.errors import InternalError
from reclock.failpoints import failpoint

_ATTEMPTS = 100
"""After how many conflicting rewrites a correction gives up."""


def replace_updates_at(
    collection: Collection,
    at: Timestamp,
    updates: pa.Table,
    *,
    check_claim: Callable[[], None],
    now: Timestamp,
) -> None:
    """Replace the updates of ``collection`` at the time ``at`` by ``updates``, in one durable
    commit.

    The upper stays. Only the holder of the claim at ``at`` may do this, because readers must not
    have seen the time. ``check_claim`` raises if the caller has lost that claim. It is called after
    the version to replace was pinned: a process that takes the claim over later replaces a newer
    version, so an old holder can never undo a newer holder's correction. ``now`` is the wall clock,
    from which the retention of the replaced files counts.
    """
    for _ in range(_ATTEMPTS):
        version = collection.pin()
        stale = [file for file in version.all_files if file.min_time <= at <= file.max_time]
        with version.reading():
            unchanged = version.dataset(stale).to_table(filter=pc.field(TIME_COLUMN) != at)
        check_claim()
        corrected = pa.concat_tables([unchanged, updates.cast(unchanged.schema)])
        added: list[StagedFile] = []
        if corrected.num_rows:
            path = f"{DATA}/{rewrite_name(version.rewrites + 1)}.parquet"
            added.append(write_file(version.folder, path, [corrected], corrected.schema))
        failpoint("collections.correct.before_commit")
        if collection.replace(version, stale, added, at=now):
            return
        collection.folder.delete(file.path for file in added)
    raise InternalError(f'the updates of "{collection.id}" at {at} were not corrected')

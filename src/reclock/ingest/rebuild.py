"""Rebuilds the published rows of a source from its bindings: the same rows at the same times, read
from the upstream again.

The rows are staged, and then replace all files of a collection's version in one commit, so that a
reader has the old files or the new ones. Its since and upper stay. A rebuild that is killed leaves
files for vacuum. A rebuild that loses a race, or meets a step that is being published, begins
again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reclock.algebra.timestamps import MINIMUM, Clock, Timestamp
from reclock.collections.files import StagedFile
from reclock.collections.folder import rewrite_name
from reclock.collections.lake import Lake
from reclock.collections.version import Version
from reclock.connectors.connector import Skip, SupportsRebuild
from reclock.consensus.frontiers.groups import Frontiers
from reclock.definitions.sources import SourceSpec
from reclock.errors import ClaimConflict, InternalError, SourceError, quoted_name
from reclock.failpoints import failpoint
from reclock.ingest.difference import DifferenceJob
from reclock.ingest.engines import Engines
from reclock.ingest.source_collections import SourceCollections, read_bindings
from reclock.ingest.stage import StagingJob
from reclock.ingest.upsert import ByOffset
from reclock.reclocking.remap import Remap

_ATTEMPTS = 5
_PIECES_PER_TASK = 32
"""How many pieces of work make one task, so that a long history of small steps does not
become as many files."""

_POLL_S = 0.2
_PATIENCE_S = 30
"""How long a rebuild waits for the publication of a committed step."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The number of stored updates below ``upper``, before and after the rebuild."""

    upper: Timestamp
    rows_before: int
    rows: int


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The rebuild of one source. ``skips`` are the ranges that decisions gave up."""

    source: SourceSpec
    connector: SupportsRebuild
    frontiers: Frontiers
    lake: Lake
    engines: Engines
    clock: Clock
    skips: Sequence[Skip] = ()

    def run(self) -> Rebuilt:
        """Rebuild all outputs; a repeated call makes the same rows. Raises a ``SourceError``, and
        has changed nothing, if the upstream lost or changed bound data; ``ClaimConflict`` if it
        loses every race."""
        collections = SourceCollections.open(self.lake, self.source)
        for _ in range(_ATTEMPTS):
            upper, versions = self._published(collections)
            names = {
                output: rewrite_name(version.rewrites + 1) for output, version in versions.items()
            }
            try:
                staged = self._stage(collections, upper, names)
            except SourceError:
                self._discard(collections, names)
                raise
            failpoint("rebuild.after_stage")
            since = collections.remap.pin().since
            while names:
                output = next(iter(names))
                version, files = versions[output], staged[output]
                if not collections.outputs[output].replace(
                    version, version.all_files, files, since=since, at=self.clock()
                ):
                    break
                del names[output]
                failpoint("rebuild.after_replace")
            else:
                before = sum(
                    file.rows for version in versions.values() for file in version.all_files
                )
                return Rebuilt(
                    upper, before, sum(file.rows for files in staged.values() for file in files)
                )
            self._discard(collections, names)
        raise ClaimConflict(
            self.source.name, detail="its files were always rewritten by others first"
        )

    def _published(self, collections: SourceCollections) -> tuple[Timestamp, Mapping[str, Version]]:
        """The published upper, and for each output a version with exactly the updates below it."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            upper = self.frontiers.get(self.source.id).upper
            versions = {name: output.pin() for name, output in collections.outputs.items()}
            if all(
                file.max_time < upper for version in versions.values() for file in version.all_files
            ):
                return upper, versions
            if time.monotonic() > deadline:
                raise ClaimConflict(
                    self.source.name, detail=f"a step from {upper} on is not published; run a tick"
                )
            time.sleep(_POLL_S)

    def _stage(
        self, collections: SourceCollections, upper: Timestamp, names: Mapping[str, str]
    ) -> dict[str, list[StagedFile]]:
        """The rows of every binding below ``upper``, staged under these names."""
        self._read(collections, upper, names)
        staged = {
            output: collections.outputs[output].staged(name) for output, name in names.items()
        }
        if any(file.max_time >= upper for files in staged.values() for file in files):
            raise InternalError(
                f"a rebuild of {quoted_name(self.source.name)} made times from {upper} on"
            )
        return staged

    def _read(
        self, collections: SourceCollections, upper: Timestamp, names: Mapping[str, str]
    ) -> None:
        ranges = Remap.of(read_bindings(collections.remap, MINIMUM, upper)).ranges(MINIMUM)
        ranges.sort(key=lambda bound_range: bound_range.time)
        increments = self.connector.recall(
            ranges, collections.bound_at(Timestamp(upper - 1)), self.skips
        )
        pieces: list[tuple[Timestamp, Any]] = [
            (bound_range.time, task)
            for bound_range, increment in zip(ranges, increments, strict=True)
            for task in self.connector.tasks([increment], self.skips)
        ]
        tasks = [
            pieces[at : at + _PIECES_PER_TASK] for at in range(0, len(pieces), _PIECES_PER_TASK)
        ]
        options, outputs, rule = self.lake.storage_options, self.source.outputs, ByOffset()
        targets = {
            output: collections.outputs[output].staging_uri(name) for output, name in names.items()
        }
        keyed = {output: desc for output, desc in outputs.items() if desc.key}
        messages = {output: rule.message_desc(desc) for output, desc in keyed.items()}
        StagingJob(self.connector, tasks, outputs, targets, options, messages).run(self.engines)
        for output, desc in keyed.items():
            DifferenceJob(desc, None, targets[output], options).replay(self.engines, rule)

    @staticmethod
    def _discard(collections: SourceCollections, names: Mapping[str, str]) -> None:
        """Delete staged files that were not committed."""
        for output, name in names.items():
            collections.outputs[output].discard_staged(name)

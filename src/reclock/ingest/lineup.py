"""The collections of one source in the lake, and what the step reads of them and appends to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.collection import Collection
from reclock.collections.files import StagedFile
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.errors import ClaimConflict, InternalError, UpperMismatch
from reclock.reclocking.mint import Binding
from reclock.sources.description import EVIDENCE_DESC, REMAP_DESC, SourceSpec
from reclock.sources.objects import Evidence, Growth


def collections_of(source: SourceSpec) -> list[tuple[StorageCollectionId, RelationDesc, bool]]:
    """The collections that a source has: id, desc and whether it is monotonic. They form one frontier group, ``source.id``."""
    return [
        (StorageCollectionId(source.id, CollectionType.RECLOCKED), source.desc, True),
        (StorageCollectionId(source.id, CollectionType.REMAPPING), REMAP_DESC, False),
        (StorageCollectionId(source.id, CollectionType.EVIDENCE), EVIDENCE_DESC, False),
    ]


@dataclass(frozen=True, slots=True)
class Lineup:
    """The collections of one source. Appending at a time twice is safe: what landed is recognised by its upper."""

    group: str
    data: Collection
    remap: Collection
    evidence: Collection

    @classmethod
    def open(cls, lake: Lake, source: SourceSpec) -> Self:
        """Raises ``UnknownCollection``."""
        data, remap, evidence = (lake.open(id) for id, _, _ in collections_of(source))
        return cls(source.id, data, remap, evidence)

    def read_evidence(self) -> tuple[Timestamp, dict[str, Evidence]]:
        """What is known of every object that was ever bound, and the physical upper below which that is true."""
        version = self.evidence.pin()
        rows = version.snapshot(Timestamp(max(version.upper - 1, 0))).select(EVIDENCE_DESC.names).to_pylist()
        known = {row["object_key"]: Evidence(row["object_key"], row["length"], row["crc32"], row["version"]) for row in rows}
        if len(known) != len(rows):
            raise InternalError(f'evidence of "{self.group}" has an object twice')
        return version.upper, known

    def read_frontier(self, before: Timestamp) -> dict[str, int]:
        """The source frontier just before ``before``, from the remap collection."""
        if before == 0:
            return {}
        rows = self.remap.pin().snapshot(Timestamp(before - 1)).to_pylist()
        return {row["object_key"]: row[DIFF_COLUMN] for row in rows}

    def read_bindings(self, at: Timestamp) -> list[Binding]:
        """What the remap collection binds at ``at``."""
        rows = self.remap.pin().changes(at, Timestamp(at + 1)).to_pylist()
        return [Binding(row["object_key"], row[TIME_COLUMN], row[DIFF_COLUMN]) for row in rows]

    def has_landed(self, at: Timestamp) -> bool:
        """Whether the rows of the step at ``at`` are in the data collection."""
        return _has_landed(self.group, self.data, at)

    def bind(self, bindings: Sequence[Binding], at: Timestamp) -> None:
        """The bindings are durable in the remap collection. Raises ``InternalError`` if they do not go on from its frontier."""
        rows = [((binding.partition,), binding.increment) for binding in bindings]
        _append(self.group, self.remap, rows, at)

    def check_frontier(self, growths: Iterable[Growth], at: Timestamp) -> None:
        """Raises ``InternalError`` unless every growth goes on where the remap collection ends before ``at``."""
        frontier = self.read_frontier(at)
        for growth in growths:
            if frontier.get(growth.key, 0) != growth.lower:
                raise InternalError(
                    f'object "{growth.key}" is bound up to {frontier.get(growth.key, 0)}, its evidence to {growth.lower}'
                )

    def commit(self, staged: Sequence[StagedFile], growths: Sequence[Growth], at: Timestamp) -> None:
        """The staged rows are in the data collection, and the evidence of the growths is what holds from ``at`` on."""
        if staged and not self.has_landed(at):
            upper = self.data.upper()
            try:
                self.data.append_files(staged, expected_upper=upper, new_upper=Timestamp(at + 1))
            except UpperMismatch:
                if not self.has_landed(at):
                    raise
        if not _has_landed(self.group, self.evidence, at):
            _, known = self.read_evidence()
            old = [known[growth.key] for growth in growths if growth.key in known]
            new = [growth.evidence for growth in growths]
            changes = [((e.key, e.length, e.crc32, e.version), diff) for diff, own in ((-1, old), (1, new)) for e in own]
            _append(self.group, self.evidence, changes, at)


def _has_landed(group: str, collection: Collection, at: Timestamp) -> bool:
    upper = collection.upper()
    if upper > at + 1:
        raise ClaimConflict(group, detail=f'"{collection.id}" is complete below {upper}, beyond the claim at {at}')
    return upper == at + 1


def _append(group: str, collection: Collection, rows: Iterable[tuple[tuple[object, ...], int]], at: Timestamp) -> None:
    """Append rows with their diffs at ``at``, unless that was done before."""
    schema = arrow_schema(collection.desc, with_updates=True)
    updates = pa.Table.from_pylist([dict(zip(schema.names, (*row, at, diff), strict=True)) for row, diff in rows], schema)
    if not updates.num_rows or _has_landed(group, collection, at):
        return
    try:
        collection.append(updates, expected_upper=collection.upper(), new_upper=Timestamp(at + 1))
    except UpperMismatch:
        if not _has_landed(group, collection, at):
            raise

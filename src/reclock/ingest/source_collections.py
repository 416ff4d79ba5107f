"""The collections of one source in the lake, as the ingestion step reads and appends to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa

from reclock.algebra.error_intervals import with_answer, with_error
from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.collection import Collection
from reclock.collections.correction import replace_updates_at
from reclock.collections.files import StagedFile
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.connectors.connector import Bound, Increment
from reclock.definitions.sources import PLACE_COLUMN, Reclocking, SourceSpec, collections_of
from reclock.errors import ClaimConflict, InternalError, OutputFailed, UpperMismatch
from reclock.ingest.payload import FailureReason
from reclock.reclocking.digits import digits, place_value
from reclock.reclocking.frontiers import Partition, SourceFrontier
from reclock.reclocking.mint import Binding

_read: WeakKeyDictionary[Version, Bound] = WeakKeyDictionary()
"""Results of `SourceCollections.read_bound` by version. Versions never change, so a source without
news reads nothing."""

_NONE: Mapping[str, FailureReason] = {}

_Key = TypeVar("_Key")


def read_bindings(remap: Collection, lower: Timestamp, upper: Timestamp) -> list[Binding]:
    """The bindings of a remap collection at times in ``[lower, upper)``."""
    return bindings_in(remap.pin(), lower, upper)


def bindings_in(remap: Version, lower: Timestamp, upper: Timestamp) -> list[Binding]:
    """The bindings of a version of a remap collection at times in ``[lower, upper)``."""
    rows = remap.changes(lower, upper).to_pylist()
    summed = _summed(((_partition(remap.desc, row), row[TIME_COLUMN]), row) for row in rows)
    return [Binding(partition, time, increment) for (partition, time), increment in summed.items()]


def _partition(remap: RelationDesc, row: Mapping[str, Partition]) -> Partition:
    """The partition of a row of bindings or evidence. Its columns come first."""
    return row[remap.names[0]] if remap.names else ()


def _summed(rows: Iterable[tuple[_Key, Mapping[str, Any]]]) -> dict[_Key, int]:
    """The sums of a remap collection's rows by key, in order of first mention. They are exact for
    any number of digits."""
    sums: dict[_Key, int] = {}
    for key, row in rows:
        sums[key] = sums.get(key, 0) + row[DIFF_COLUMN] * place_value(row.get(PLACE_COLUMN, 0))
    return sums


@dataclass(frozen=True, slots=True)
class SourceCollections:
    """The collections of one source. Appending twice at one time is safe: the upper shows that the
    first append landed."""

    group: str
    reclocking: Reclocking
    outputs: Mapping[str, Collection]
    remap: Collection
    evidence: Collection | None

    @classmethod
    def open(cls, lake: Lake, source: SourceSpec) -> Self:
        """The collections, with those late outputs that have begun by now. Raises
        ``UnknownCollection``."""
        opened = {id: lake.open(id) for id, _, _ in collections_of(source) if id.guest is None}
        outputs = {
            id.output: output
            for id, output in opened.items()
            if id.collection is CollectionType.RECLOCKED
        }
        if source.connector.reclocking.is_shared:
            outputs |= lake.late(source.id)
        remap = opened[StorageCollectionId(source.id, CollectionType.REMAPPING)]
        evidence = opened.get(StorageCollectionId(source.id, CollectionType.EVIDENCE))
        return cls(source.id, source.connector.reclocking, outputs, remap, evidence)

    def read_bound(self) -> tuple[Timestamp, Bound]:
        """The newest evidence of every partition that was ever bound, and the physical upper below
        which it is complete."""
        bindings = self.evidence or self.remap
        version = bindings.pin()
        bound = _read.get(version)
        if bound is None:
            bound = _read[version] = self._bound(bindings, version, version.upper)
        return version.upper, bound

    def bound_at(self, at: Timestamp) -> Bound:
        """The evidence at ``at`` of every partition that was bound by then."""
        bindings = self.evidence or self.remap
        return self._bound(bindings, bindings.pin(), at)

    def _bound(self, bindings: Collection, version: Version, at: Timestamp) -> Bound:
        rows = version.snapshot(Timestamp(max(min(at, version.upper - 1), 0))).to_pylist()
        offset, *evidence_names = (
            bindings.desc.names[len(self.reclocking.partition) :]
            if self.evidence
            else (DIFF_COLUMN,)
        )
        bound = {
            _partition(self.remap.desc, row): (
                int(row[offset]),
                *(row[name] for name in evidence_names),
            )
            for row in rows
        }
        if len(bound) != len(rows):
            raise InternalError(f'evidence of "{self.group}" has a partition twice')
        return bound

    def read_frontier(self, before: Timestamp) -> SourceFrontier:
        """The source frontier just before the time ``before``."""
        if before == 0:
            return {}
        rows = self.remap.pin().snapshot(Timestamp(before - 1)).to_pylist()
        return _summed((_partition(self.remap.desc, row), row) for row in rows)

    def read_bindings(self, at: Timestamp) -> list[Binding]:
        """The bindings at ``at``."""
        return read_bindings(self.remap, at, Timestamp(at + 1))

    def is_committed(self, at: Timestamp) -> bool:
        """Whether an output has rows of the step at ``at``."""
        return any(_is_committed(self.group, output, at) for output in self.outputs.values())

    def bind(
        self,
        bindings: Sequence[Binding],
        at: Timestamp,
        *,
        check_claim: Callable[[], None],
        now: Timestamp,
    ) -> None:
        """Make ``bindings`` the durable content of the remap collection at ``at``.

        A step that was read again may bind fewer or more offsets than before. Nobody has seen the
        earlier bindings, because the step is not published, so they are replaced. For
        ``check_claim`` and ``now`` see ``replace_updates_at``.
        """
        if self.reclocking.is_wide:
            rows = [
                ((*_row(binding.partition), place), digit)
                for binding in bindings
                for place, digit in digits(binding.increment)
            ]
        else:
            rows = [(_row(binding.partition), binding.increment) for binding in bindings]
        updates = _updates(self.remap, rows, at)
        if not _is_committed(self.group, self.remap, at):
            _append(self.group, self.remap, updates, at)
        elif set(self.read_bindings(at)) != set(bindings):
            replace_updates_at(self.remap, at, updates, check_claim=check_claim, now=now)

    def check_frontier(self, increments: Iterable[Increment], at: Timestamp) -> None:
        """Raises ``InternalError`` unless every increment continues where the remap collection ends
        before ``at``."""
        frontier = self.read_frontier(at)
        for increment in increments:
            bound = frontier.get(increment.partition, 0)
            if bound != increment.lower:
                raise InternalError(
                    f'partition "{increment.name}" is bound up to {bound}, its evidence '
                    f"to {increment.lower}"
                )

    def failed(self) -> frozenset[str]:
        """The outputs that have failed."""
        return frozenset(
            name
            for name, output in self.outputs.items()
            if (errors := output.pin().errors) and errors[-1].upper is None
        )

    def commit(
        self,
        staged: Mapping[str, Sequence[StagedFile]],
        increments: Sequence[Increment],
        at: Timestamp,
        failed: Mapping[str, FailureReason] = _NONE,
        revived: Sequence[str] = (),
    ) -> None:
        """Append the staged rows to the outputs, and the evidence of the increments to the evidence
        collection. Outputs in ``failed`` fail from ``at`` on, those ``revived`` have rows again,
        and late outputs begin. Dropped outputs are left out."""
        for name, failure in failed.items():
            self._seal(self.outputs[name], at, failure)
        begun_outputs = self.begun_by(increments)
        for name in dict.fromkeys((*staged, *begun_outputs, *revived)):
            if name not in self.outputs:
                continue
            output = self.outputs[name]
            if _is_committed(self.group, output, at):
                continue
            try:
                output.append_files(
                    staged.get(name, ()),
                    expected_upper=output.upper(),
                    new_upper=Timestamp(at + 1),
                    begins=at if name in begun_outputs else None,
                    errors=with_answer(output.pin().errors, at) if name in revived else None,
                )
            except UpperMismatch:
                if not _is_committed(self.group, output, at):
                    raise
        if self.evidence is not None and not _is_committed(self.group, self.evidence, at):
            changes = self._evidence_changes(increments)
            _append(self.group, self.evidence, _updates(self.evidence, changes, at), at)

    def _seal(self, output: Collection, at: Timestamp, failure: FailureReason) -> None:
        """Let the output fail from ``at`` on, unless that is committed."""
        if _is_committed(self.group, output, at):
            return
        version = output.pin()
        error = OutputFailed(failure.message, detail=failure.detail)
        output.seal(
            expected_upper=version.upper,
            new_upper=Timestamp(at + 1),
            errors=with_error(version.errors, at, error, is_first=False),
        )

    def _evidence_changes(
        self, increments: Sequence[Increment]
    ) -> list[tuple[tuple[object, ...], int]]:
        """The rows of evidence that these increments replace, and their own."""
        _, bound = self.read_bound()
        replaced = [increment for increment in increments if increment.partition in bound]
        changes = [
            (self._evidence_row(increment.partition, *bound[increment.partition]), -1)
            for increment in replaced
        ]
        changes += [
            (self._evidence_row(increment.partition, increment.upper, *increment.evidence), 1)
            for increment in increments
        ]
        return changes

    def begun_by(self, increments: Iterable[Increment]) -> list[str]:
        """The outputs that begin with a step of these increments
        (``reclock.connectors.connector.SupportsGuests``)."""
        named = {increment.partition for increment in increments}
        return [
            name
            for name, output in self.outputs.items()
            if output.id.guest is not None and name in named
        ]

    def _evidence_row(
        self, partition: Partition, offset: int, *evidence: object
    ) -> tuple[object, ...]:
        return (*_row(partition), self.reclocking.relation_value(offset), *evidence)

    def staging_uris(self, staging: str) -> dict[str, str]:
        """The staging folder of each output under this name."""
        return {name: output.staging_uri(staging) for name, output in self.outputs.items()}

    def staged(self, staging: str) -> dict[str, Sequence[StagedFile]]:
        """Make the files under this name durable. Returns them for each output that has any."""
        staged = {name: output.staged(staging) for name, output in self.outputs.items()}
        return {name: files for name, files in staged.items() if files}

    def discard_staged(self, staging: str) -> None:
        for output in self.outputs.values():
            output.discard_staged(staging)


def _row(partition: Partition) -> tuple[Partition, ...]:
    return partition if isinstance(partition, tuple) else (partition,)


def _is_committed(group: str, collection: Collection, at: Timestamp) -> bool:
    upper = collection.upper()
    if upper > at + 1:
        raise ClaimConflict(
            group, detail=f'"{collection.id}" is complete below {upper}, beyond the claim at {at}'
        )
    return upper == at + 1


def _updates(
    collection: Collection, rows: Iterable[tuple[tuple[object, ...], int]], at: Timestamp
) -> pa.Table:
    """Rows with their diffs, as updates at ``at``."""
    schema = arrow_schema(collection.desc, with_updates=True)
    return pa.Table.from_pylist(
        [dict(zip(schema.names, (*row, at, diff), strict=True)) for row, diff in rows], schema
    )


def _append(group: str, collection: Collection, updates: pa.Table, at: Timestamp) -> None:
    """Append updates at ``at``, unless they were appended before."""
    if not updates.num_rows or _is_committed(group, collection, at):
        return
    try:
        collection.append(updates, expected_upper=collection.upper(), new_upper=Timestamp(at + 1))
    except UpperMismatch:
        if not _is_committed(group, collection, at):
            raise

"""Reads of a refresh on DuckDB other than scans: rows by key, and the partial aggregates of
groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.arrow_offsets import without_offsets
from reclock.compute.engines.database import NAME
from reclock.compute.engines.engine import CollectionInput, Input
from reclock.compute.engines.group_states import GroupStep
from reclock.compute.engines.key_lookups import KeyHashes, KeyLookups, can_arrange
from reclock.compute.operators.get import stored
from reclock.compute.operators.rules import EngineRelation
from reclock.compute.steps.writer import OpenedGroups
from reclock.plan.relational import Get, Plan


@dataclass(slots=True)
class DuckDbStepReads:
    """See ``StepReads``. Relations are those of ``session``; without ``lookups`` or ``groups``
    there are none of these."""

    lookups: KeyLookups | None
    groups: GroupStep | None
    session: duckdb.DuckDBPyConnection
    inputs: Mapping[StorageCollectionId, Input]
    relations: Mapping[str, EngineRelation]
    as_of: Timestamp
    _hashes: dict[str, KeyHashes] = field(default_factory=dict)

    def can_match(self, node: Get, columns: tuple[int, ...]) -> bool:
        input = self.inputs.get(node.collection)
        return (
            self.lookups is not None
            and isinstance(input, CollectionInput)
            and can_arrange([node.desc.types[index] for index in columns])
        )

    def match(self, name: str, node: Get, columns: tuple[int, ...], keys: str) -> None:
        input = self.inputs[node.collection]
        assert self.lookups is not None
        assert isinstance(input, CollectionInput)
        desc = input.version.desc
        places = tuple(desc.names.index(node.desc.names[index]) for index in columns)
        hashes = self._hashes.setdefault(keys, KeyHashes(self.session, keys))
        updates = self.lookups.matching(
            hashes, input.version, input.files(self.as_of), places, node.desc.names
        )
        if updates is None:  # a scan is better
            named = ", ".join(f"c{place} AS mz_key{place}" for place in range(len(columns)))
            equal = " AND ".join(
                f"mz_key{place} IS NOT DISTINCT FROM {stored(NAME, node.desc.columns[index])}"
                for place, index in enumerate(columns)
            )
            self.session.execute(
                f"CREATE TEMP VIEW {name} AS SELECT * FROM "
                f"{self.relations[str(node.collection)].name} WHERE EXISTS (SELECT 1 FROM (SELECT "
                f"{named} FROM ({keys})) WHERE {equal})"
            )
            return
        if input.tail is not None:
            updates = pa.concat_tables(
                [updates, input.tail.select(updates.column_names).cast(updates.schema)]
            )
        self.session.register(name, without_offsets(updates))

    def store(self, name: str, select: str) -> None:
        self.session.execute(f"CREATE TEMP TABLE {name} AS {select}")

    def open_groups(
        self, place: int, node: Plan, partials: Callable[[], str]
    ) -> OpenedGroups | None:
        return None if self.groups is None else self.groups.open(place, node, partials)

    def add_to_groups(self, place: int, changes: str) -> None:
        assert self.groups is not None
        self.groups.add(place, changes)

    def confirm_groups(self, place: int) -> None:
        if self.groups is not None:
            self.groups.confirm(place)

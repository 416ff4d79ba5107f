"""Reads of a refresh on DuckDB other than scans: rows by key, and the partial aggregates of
groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.engine import CollectionInput, Input
from reclock.compute.engines.group_states import GroupStep
from reclock.compute.engines.key_lookups import KeyHashes, KeyLookups
from reclock.compute.operators.rules import EngineRelation
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
    _count: int = 0

    def matching(self, node: Get, columns: tuple[int, ...], keys: str) -> EngineRelation | None:
        input = self.inputs.get(node.collection)
        if self.lookups is None or not isinstance(input, CollectionInput):
            return None
        desc = input.version.desc
        places = tuple(desc.names.index(node.desc.names[index]) for index in columns)
        hashes = self._hashes.setdefault(keys, KeyHashes(self.session, keys))
        updates = self.lookups.matching(
            hashes, input.version, input.files(self.as_of), places, node.desc.names
        )
        if updates is None:
            return None
        if input.tail is not None:
            updates = pa.concat_tables(
                [updates, input.tail.select(updates.column_names).cast(updates.schema)]
            )
        name, self._count = f"keyed{self._count}", self._count + 1
        self.session.register(name, updates)
        return replace(self.relations[str(node.collection)], name=name)

    def store(self, name: str, select: str) -> None:
        self.session.execute(f"CREATE TEMP TABLE {name} AS {select}")

    def open_groups(self, place: int, node: Plan, partials: Callable[[], str]) -> str | None:
        return None if self.groups is None else self.groups.open(place, node, partials)

    def add_to_groups(self, place: int, changes: str) -> None:
        assert self.groups is not None
        self.groups.add(place, changes)

    def confirm_groups(self, place: int) -> None:
        if self.groups is not None:
            self.groups.confirm(place)

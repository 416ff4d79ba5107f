"""Hashes of the keys of rows: 64 bits for each row, equal for equal keys.

A hash of one integer column is as distinct as its values. All other hashes differ from process to
process, so nobody can choose colliding keys, and no hash may be stored.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import DIFF_COLUMN

Hashes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SEED = np.uint64(secrets.randbits(64))


class ComputedKeys(Protocol):
    """Computes the keys of rows. What computes in the same way is equal."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that it reads."""

    def of(self, changes: pa.Table) -> pa.Table:
        """The keys of those ``changes``, rows with diffs, that have one, as columns beside the
        diffs."""


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The columns of a key, which may be ``computed``. A row with NULL in one of them has no key,
    unless ``are_nulls_equal``."""

    names: tuple[str, ...]
    are_nulls_equal: bool = False
    computed: ComputedKeys | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the table that the key needs."""
        return self.names if self.computed is None else self.computed.inputs

    def _keyed(self, changes: pa.Table) -> pa.Table:
        return changes if self.computed is None else self.computed.of(changes)

    def hashes(self, rows: pa.Table) -> tuple[Hashes, npt.NDArray[np.bool_]]:
        """The hash of each row's key, and whether the row has a key. The key is not computed."""
        combined = np.zeros(rows.num_rows, np.uint64)
        has_key = np.ones(rows.num_rows, np.bool_)
        for name in self.names:
            column = rows.column(name)
            values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            if isinstance(values, pa.ChunkedArray):  # what Arrow makes of no chunks
                values = pa.array([], values.type)
            hashes = _hashes(values)
            if values.null_count:
                is_null = values.is_null().to_numpy(zero_copy_only=False)
                hashes = np.where(is_null, _NULL, hashes)
                if not self.are_nulls_equal:
                    has_key &= ~is_null
            combined = (
                hashes if len(self.names) == 1 else _mixed(_mixed(combined + _SEED) * _ODD + hashes)
            )
        return combined, has_key

    def net_counts(self, changes: pa.Table) -> tuple[Hashes, Counts]:
        """The keys that ``changes``, rows with diffs, leave more or fewer times than before,
        ascending, and by how much."""
        changes = self._keyed(changes)
        hashes, has_key = self.hashes(changes)
        return summed(hashes[has_key], changes.column(DIFF_COLUMN).to_numpy()[has_key])

    def having(self, hashes: Hashes, changes: pa.Table) -> pa.Table:
        """The key and the diff of those of ``changes`` whose key has one of the hashes."""
        changes = self._keyed(changes)
        hashes_of_rows, has_key = self.hashes(changes)
        matches = changes.select([*self.names, DIFF_COLUMN]).filter(
            pa.array(has_key & np.isin(hashes_of_rows, hashes))
        )
        # -0 is 0
        columns = [
            pc.add(column, 0) if pa.types.is_floating(column.type) else column
            for column in matches.columns
        ]
        return pa.table(columns, pa.schema([field.with_nullable(True) for field in matches.schema]))


def summed(hashes: Hashes, counts: Counts) -> tuple[Hashes, Counts]:
    """Each hash once, ascending, with the sum of its counts where that is not zero."""
    if len(hashes) == 1:
        return (hashes, counts) if counts[0] else (hashes[:0], counts[:0])
    if (counts == 1).all():
        ordered = np.sort(hashes)
        if (ordered[1:] != ordered[:-1]).all():
            return ordered, counts
    distinct, places = np.unique(hashes, return_inverse=True)
    sums = np.bincount(places, weights=counts, minlength=len(distinct)).astype(np.int64)
    return distinct[sums != 0], sums[sums != 0]


def _is_bytes(type: pa.DataType) -> bool:
    return any(
        is_kind(type)
        for is_kind in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
        )
    )


def _hashes(values: pa.Array) -> Hashes:
    type = values.type
    if _is_bytes(type):
        return np.fromiter(
            (hash(value) for value in values.to_pylist()), np.int64, len(values)
        ).view(np.uint64)
    if pa.types.is_nested(type):
        return np.fromiter(
            (hash(_comparable(value)) for value in values.to_pylist()), np.int64, len(values)
        ).view(np.uint64)
    if pa.types.is_decimal128(type):
        end = values.offset + len(values)
        words = np.frombuffer(values.buffers()[1], np.uint64, 2 * end).reshape(-1, 2)[
            values.offset :
        ]
        return _mixed(_mixed(words[:, 1] + _SEED) + words[:, 0])
    if pa.types.is_floating(type):
        numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0  # there is one zero
        return _mixed(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64))
    if pa.types.is_boolean(type) or type.bit_width < 64:
        values = values.cast(pa.int32()) if pa.types.is_temporal(type) else values
        values = values.cast(pa.int64())
    elif not pa.types.is_int64(type):
        values = values.view(pa.int64())
    return _mixed(pc.fill_null(values, 0).to_numpy(zero_copy_only=False).view(np.uint64))


def _comparable(value: Any) -> object:
    """A hashable value that is equal where the SQL values are."""
    match value:
        case {"months": int(months), "days": int(days), "microseconds": int(microseconds)}:
            return (months * 30 + days) * 86_400_000_000 + microseconds
        case dict():
            return tuple(map(_comparable, value.values()))
        case list():
            return tuple(map(_comparable, value))
        case _:
            return value


def _mixed(values: Hashes) -> Hashes:
    """A permutation of all numbers of 64 bits that leaves no order among them (the finalizer of
    SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * _FACTORS[0]
    values = (values ^ (values >> np.uint64(27))) * _FACTORS[1]
    return values ^ (values >> np.uint64(31))

"""The lengths of ``varchar(n)`` and ``char(n)``, and the precision of ``timestamp(p)`` and
``time(p)``, over whole columns."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.moments import START_US, round_values
from reclock.algebra.relations import TIME, Column, MomentLimit, TypeName, cut_name
from reclock.algebra.textual.times import round_time
from reclock.errors import TextTooLong


def within_limit(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """The texts as the column stores them: without blanks beyond its length, and for ``char(n)``
    without blanks at the end. A ``name`` is cut, and a moment is rounded.

    Raises ``TextTooLong``.
    """
    if column.type.dimensions:
        return values if column.limit is None else _of_arrays(values, column)
    if column.type.name is TypeName.BPCHAR:
        values = pc.utf8_rtrim(values, " ")
        if column.type.length is not None:
            _check_longest(values, column.type.length, str(column.type))
    if column.limit is None:
        return values
    if isinstance(column.limit, MomentLimit):
        if column.type == TIME:
            return _rounded_times(values, column.limit.digits)
        return _rounded(values, column.limit.digits)
    if column.limit.is_name:
        if pc.all(pc.less_equal(pc.binary_length(values), column.limit.characters)).as_py():
            return values
        names = [value and cut_name(value) for value in values.to_pylist()]
        cut = pa.array(names, values.type)
        return pa.chunked_array([cut]) if isinstance(values, pa.ChunkedArray) else cut
    max_characters = column.limit.characters
    _check_longest(pc.utf8_rtrim(values, " "), max_characters, str(column.limit))
    return pc.utf8_slice_codeunits(values, 0, max_characters)


def _of_arrays(arrays: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """As ``within_limit``, of arrays of texts or moments."""
    texts = arrays
    for _ in range(column.type.dimensions):
        texts = pc.list_flatten(texts)
    limit, element = column.limit, replace(column, type=column.type.base)
    assert limit is not None
    if within_limit(texts, element).equals(texts):
        return arrays

    def changed(items: object) -> object:
        if isinstance(limit, MomentLimit):
            return round_values(items, limit)
        if isinstance(items, list):
            return list(map(changed, items))
        return items[: limit.characters] if isinstance(items, str) else items

    values = pa.array([changed(items) for items in arrays.to_pylist()], arrays.type)
    return pa.chunked_array([values]) if isinstance(arrays, pa.ChunkedArray) else values


def _check_longest(texts: pa.ChunkedArray, max_characters: int, type: str) -> None:
    if pc.any(pc.greater(pc.utf8_length(texts), max_characters)).as_py():
        raise TextTooLong(type)


def _rounded_times(values: pa.ChunkedArray, digits: int) -> pa.ChunkedArray:
    longest = len("00:00:00") + (digits and digits + 1)
    if digits == 6 or pc.all(pc.less_equal(pc.binary_length(values), longest)).as_py():
        return values
    times = [value and round_time(value, digits) for value in values.to_pylist()]
    rounded = pa.array(times, values.type)
    return pa.chunked_array([rounded]) if isinstance(values, pa.ChunkedArray) else rounded


def _rounded(values: pa.ChunkedArray, digits: int) -> pa.ChunkedArray:
    """As ``algebra.moments.round_moment``."""
    step = 10 ** (6 - digits)
    if step == 1:
        return values
    elapsed = pc.subtract(values.cast(pa.int64()), START_US)
    steps = pc.divide(pc.add(pc.abs(elapsed), step // 2), step)
    whole = pc.multiply(pc.multiply(steps, step), pc.sign(elapsed))
    return pc.add(whole, START_US).cast(values.type)

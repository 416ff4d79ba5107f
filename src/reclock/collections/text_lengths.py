"""The lengths of ``varchar(n)`` and ``char(n)``, over whole columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import Column, cut_name
from reclock.errors import TextTooLong


def within_limit(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """The texts as the column stores them: without blanks beyond its length, and for ``char(n)``
    without blanks at the end. A ``name`` is cut.

    Raises ``TextTooLong``.
    """
    if column.limit is None:
        return values
    if column.limit.is_name:
        if pc.all(pc.less_equal(pc.binary_length(values), column.limit.characters)).as_py():
            return values
        names = [value and cut_name(value) for value in values.to_pylist()]
        cut = pa.array(names, values.type)
        return pa.chunked_array([cut]) if isinstance(values, pa.ChunkedArray) else cut
    max_characters, stripped = column.limit.characters, pc.utf8_rtrim(values, " ")
    if pc.any(pc.greater(pc.utf8_length(stripped), max_characters)).as_py():
        raise TextTooLong(str(column.limit))
    return (
        stripped
        if column.limit.ignores_blanks
        else pc.utf8_slice_codeunits(values, 0, max_characters)
    )

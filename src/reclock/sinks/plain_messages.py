"""Keys of one column: its text, as a source with FORMAT TEXT reads it, or its bytes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from reclock.algebra.relations import Column, TypeName
from reclock.sinks.json_messages import json_text
from reclock.sinks.messages import changes_column


class PlainForm:
    """Plain keys (see ``reclock.sinks.messages.KeyForm``): text and bytes are unchanged, other
    types have their JSON form without quotes."""

    def begin(self) -> None:
        """Plain keys need no preparation."""

    def row(self, columns: Sequence[Column]) -> str:
        [column] = columns
        if column.type.name in (TypeName.TEXT, TypeName.BPCHAR, TypeName.BYTEA):
            return changes_column(column)
        return f"trim({json_text(column)}, '\"')"

    def messages(self, rows: pa.Array) -> list[bytes | None]:
        return list(rows.cast(pa.binary()).to_pylist())

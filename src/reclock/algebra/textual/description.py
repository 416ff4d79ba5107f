"""What a type of texts in normal form is described by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reclock.algebra.relations import ScalarType


@dataclass(frozen=True, slots=True)
class TextualType:
    """A type whose values are kept as texts in a normal form, in engines, in memory and in the
    lake.

    Equal values are equal texts. So equality, grouping, joins, consolidation, statistics of files
    and lookups are those of text. If it ``has_extremes``, PostgreSQL has ``min`` and ``max`` of it,
    and the texts sort as the values do.
    """

    type: ScalarType
    oid: int
    array_oid: int
    size: int
    """The bytes of a value in PostgreSQL; -1 if that varies."""
    category: str
    """PostgreSQL's."""
    functions: tuple[int, int, int, int]
    """PostgreSQL's object ids of the functions in, out, recv and send."""
    normal_form: Callable[[str], str]
    """The value that a text spells. Raises a ``ReclockError``, without looking at the session."""
    to_binary: Callable[[str], bytes]
    from_binary: Callable[[bytes], str]
    """Raises ``ValueError``, ``struct.error`` or a ``ReclockError``."""
    has_extremes: bool = False

    @property
    def short_name(self) -> str:
        """That of ``pg_type``: here SQL's first word."""
        return str(self.type).partition(" ")[0]

"""What a source reads, and how its records are written: values, as CREATE SOURCE says them."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import BIGINT, TEXT, Column, RelationDesc


@dataclass(frozen=True, slots=True)
class ObjectsConnector:
    """The objects of ``bucket`` whose keys match ``pattern`` (see ``reclock.sources.patterns``)."""

    bucket: str
    pattern: str


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Comma-separated values (RFC 4180). A quote, doubled inside, may enclose delimiters and newlines.

    With ``has_header`` the first record of every object names the declared columns, each once, in any order. An unquoted field
    equal to ``null_text`` is NULL. ``delimiter`` and ``quote`` are one ASCII character each; without ``quote`` none is special.
    """

    has_header: bool = True
    delimiter: str = ","
    null_text: str = ""
    quote: str | None = '"'


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """One JSON object a line. A field that is missing is NULL, one that is not declared is ignored."""


Format = CsvFormat | JsonFormat


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source, resolved: its id is its frontier group, ``name`` is for people, ``desc`` is the relation it fills."""

    id: GlobalId
    name: str
    connector: ObjectsConnector
    format: Format
    desc: RelationDesc


REMAP_DESC = RelationDesc((Column("object_key", TEXT, is_nullable=False),))
"""The remap collection of objects: the diff of a key is by how many bytes it advanced."""

EVIDENCE_DESC = RelationDesc(
    (
        Column("object_key", TEXT, is_nullable=False),
        Column("length", BIGINT, is_nullable=False),
        Column("crc32", BIGINT, is_nullable=False),
        Column("version", TEXT, is_nullable=False),
    ),
    key=("object_key",),
)
"""What was known of an object when its first ``length`` bytes were bound."""

"""What a source reads, and how its records are written: values, as CREATE SOURCE says them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import BIGINT, TEXT, TIME_COLUMN, Column, RelationDesc


@dataclass(frozen=True, slots=True)
class Reclocking:
    """What the bindings of a source type look like: its ``partition`` (none if there is but one), what its progress relation calls
    that and the ``offset``, and the columns kept beside the offset as ``evidence``, if any is (see docs/decisions/0003)."""

    partition: tuple[Column, ...]
    offset: str
    progress: tuple[str, ...]
    evidence: tuple[Column, ...] | None = None

    @property
    def remap_desc(self) -> RelationDesc:
        """The remap collection: the diff of a partition is by how many offsets it advanced."""
        return RelationDesc(self.partition)

    @property
    def evidence_desc(self) -> RelationDesc | None:
        """The evidence: one row a partition, what was known of it when it was bound up to its offset."""
        if self.evidence is None:
            return None
        offset = Column(self.offset, BIGINT, is_nullable=False)
        return RelationDesc((*self.partition, offset, *self.evidence), key=self.remap_desc.names)

    @property
    def progress_desc(self) -> RelationDesc:
        partition = tuple(Column(name, own.type, False) for name, own in zip(self.progress, self.partition, strict=False))
        columns = (Column(TIME_COLUMN, BIGINT, False), *partition, Column(self.progress[-1], BIGINT, False))
        return RelationDesc(columns, key=self.progress[:-1] or None)


@dataclass(frozen=True, slots=True)
class ObjectsConnector:
    """The objects of ``bucket`` whose keys match ``pattern`` (see ``reclock.sources.patterns``)."""

    bucket: str
    pattern: str

    is_monotonic: ClassVar[bool] = True
    updates_per_offset: ClassVar[int] = 1
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(Column("object_key", TEXT, is_nullable=False),),
        offset="length",
        progress=("key", "byte_offset"),
        evidence=(Column("crc32", BIGINT, is_nullable=False), Column("version", TEXT, is_nullable=False)),
    )


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


Upstream = ObjectsConnector
"""What a source reads. Each has its ``reclocking``, and says whether its rows are only inserted
(``is_monotonic``) and how many updates one offset may yield."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source, resolved: its id is its frontier group, ``name`` is for people, ``desc`` is the relation it fills.

    One with ``subsources`` fills theirs instead, by their names upstream.
    """

    id: GlobalId
    name: str
    connector: Upstream
    format: Format
    desc: RelationDesc
    subsources: Mapping[str, RelationDesc] = field(default_factory=dict)

    @property
    def outputs(self) -> Mapping[str, RelationDesc]:
        """Every relation it fills, by its name upstream; ``""`` is its own."""
        return self.subsources or {"": self.desc}

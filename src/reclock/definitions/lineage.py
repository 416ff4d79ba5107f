"""What a piece of work reads and writes, and from which columns its columns come. Such values go
from the process that did the work to the one that reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset by its name within a ``namespace``, as OpenLineage names datasets. ``columns`` are
    names and types; ``uri`` is where its files lie. Both are empty if unknown."""

    namespace: str
    name: str
    columns: tuple[tuple[str, str], ...] = ()
    uri: str = ""


@dataclass(frozen=True, slots=True)
class InputField:
    """A column of an input. ``use`` is the name of a ``reclock.plan.lineage.Use``."""

    namespace: str
    name: str
    field: str
    use: str


@dataclass(frozen=True, slots=True)
class Output:
    """A dataset that was written, with the number of new ``rows`` or changes.

    ``fields`` says from which columns of inputs its columns come, and ``deciding`` which ones
    decide about its rows.
    """

    dataset: Dataset
    rows: int | None = None
    fields: tuple[tuple[str, tuple[InputField, ...]], ...] = ()
    deciding: tuple[InputField, ...] = ()


@dataclass(frozen=True, slots=True)
class JobLineage:
    """The work on one source, view or sink, which has the ``name``. ``kind`` is ``INGESTION``,
    ``REFRESH`` or ``SINK``; ``sql`` defines it."""

    name: str
    kind: str
    inputs: tuple[Dataset, ...]
    outputs: tuple[Output, ...]
    sql: str = ""


def asset_uri(parts: Sequence[str]) -> str:
    """That of the asset for the relation or sink whose whole name has these parts:
    ``reclock://<database>/<schema>/<name>``."""
    return "reclock://" + "/".join(quote(part, safe="") for part in parts)


def from_json(value: Mapping[str, object]) -> JobLineage:
    """The value whose ``dataclasses.asdict`` has become JSON."""
    from cattrs import structure

    return structure(value, JobLineage)

"""Chooses how the objects of a format are read."""

from __future__ import annotations

from reclock.algebra.relations import RelationDesc
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.contents import ObjectContents
from reclock.connectors.objects.line_contents import LineContents
from reclock.connectors.objects.parquet_contents import ParquetContents
from reclock.definitions.formats import ObjectFormat, ParquetFormat


def open_contents(
    store: Unzipped, bucket: str, format: ObjectFormat, desc: RelationDesc
) -> ObjectContents:
    """The contents of the objects of a bucket, as rows of ``desc``."""
    if isinstance(format, ParquetFormat):
        return ParquetContents(store, bucket, desc)
    return LineContents(store, bucket, format, desc)

"""The types of columns that the targets of sinks can have."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import Column, ScalarType, TypeName
from reclock.definitions.sinks import (
    DeltaTarget,
    FilesTarget,
    IcebergTarget,
    Json,
    KafkaTarget,
    PostgresTarget,
    Target,
)
from reclock.errors import UnsupportedSql
from reclock.sql.queries.columns import check_flat, check_types


def check_column_types(columns: Sequence[Column], target: Target) -> None:
    """JSON and PostgreSQL tables have arrays and intervals; Delta and Iceberg tables have arrays.
    Raises ``UnsupportedSql``."""
    match target:
        case PostgresTarget(key=key) | KafkaTarget(format=Json(), key=key):
            check_types(columns, "a sink", _is_of_documents)
            check_flat([column for column in columns if column.name in key], "the key of a sink")
        case FilesTarget(format=format):
            check_file_columns(columns, format, "a sink")
        case DeltaTarget() | IcebergTarget():
            check_types(columns, "a sink", _is_of_tables)
        case _:
            check_flat(columns, "a sink")


def check_file_columns(columns: Sequence[Column], format: str, kind: str) -> None:
    """Raises ``UnsupportedSql`` unless files of the format, which ``kind`` writes, can have the
    columns: JSON has arrays and intervals, and Parquet has arrays."""
    match format:
        case "JSON":
            check_types(columns, kind, _is_of_documents)
        case "PARQUET":
            check_types(columns, kind, _is_of_tables)
        case _:
            check_flat(columns, kind)
    for column in columns:
        if format == "CSV" and column.type.name is TypeName.BYTEA:
            raise UnsupportedSql(
                f'CSV files have no bytea, such as "{column.name}"',
                hint="FORMAT PARQUET and JSON have it",
            )


def _is_of_documents(type: ScalarType) -> bool:
    """Whether JSON has the type."""
    return type.base.is_stored and not type.is_list_or_map


def _is_of_tables(type: ScalarType) -> bool:
    """Whether Parquet has the type. An interval is none: readers would find a struct."""
    return type.is_stored and type.name is not TypeName.INTERVAL and not type.is_list_or_map

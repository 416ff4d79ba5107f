"""Outputs whose rows replace each other by key: the envelope UPSERT, and changes that name the
deleted row by its key.

The output itself is the state. Only the difference that a step's messages make to it is staged, for
which only the output's rows with these keys are read. The rules are in Spark's SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DIFF_COLUMN,
    INTEGER,
    TIME_COLUMN,
    Column,
    RelationDesc,
)
from reclock.connectors.connector import DELETED_COLUMN, OFFSET_COLUMN, PARTITION_COLUMN
from reclock.connectors.postgres.lineages import (
    BORN_COLUMN,
    UNSENT_COLUMN,
    large,
    lineage_desc,
    was,
)
from reclock.definitions.sources import PostgresConnector, Upstream


class Replacement(Protocol):
    """Which columns of a message are staged, and how messages change the output."""

    def message_desc(self, desc: RelationDesc) -> RelationDesc: ...

    def sql(self, desc: RelationDesc, messages: str, state: str) -> str:
        """The query for the difference: the columns of ``desc`` with ``mz_diff``, from the messages
        and the output's updates before them."""


class ByOffset:
    """A message replaces the row of its key; a message without a value deletes it. Of several
    messages with one key, the greatest offset counts. If they are in several partitions, between
    which Kafka has no order, the highest partition counts."""

    def message_desc(self, desc: RelationDesc) -> RelationDesc:
        """The columns of the row, and the message's place."""
        columns = (Column(column.name, column.type) for column in desc.columns)
        place = (
            Column(PARTITION_COLUMN, INTEGER),
            Column(OFFSET_COLUMN, BIGINT),
            Column(DELETED_COLUMN, BOOLEAN),
        )
        return RelationDesc((*columns, *place))

    def sql(self, desc: RelationDesc, messages: str, state: str) -> str:
        key = listed(desc.key or ())
        columns = listed(desc.names)
        return f"""
            WITH ranked AS (
                SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY {PARTITION_COLUMN} DESC, {OFFSET_COLUMN} DESC) AS mz_rank
                FROM {messages}
            ), latest AS (
                SELECT * FROM ranked WHERE mz_rank = 1
            ), changes AS (
                SELECT {columns}, CAST(1 AS BIGINT) AS {DIFF_COLUMN} FROM latest WHERE NOT {DELETED_COLUMN}
                UNION ALL
                SELECT {columns}, -{DIFF_COLUMN} FROM {state} WHERE ({key}) IN (SELECT {key} FROM latest)
            )
            SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM changes GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
        """

    def history_sql(self, desc: RelationDesc, messages: str) -> str:
        """The query for the output's whole history, from all messages: a row is deleted at the time
        of its key's next message."""
        key = listed(desc.key or ())
        columns = f"{listed(desc.names)}, {TIME_COLUMN}"
        return f"""
            WITH ranked AS (
                SELECT *, row_number() OVER (
                    PARTITION BY {key}, {TIME_COLUMN} ORDER BY {PARTITION_COLUMN} DESC, {OFFSET_COLUMN} DESC
                ) AS mz_rank
                FROM {messages}
            ), latest AS (
                SELECT *, lead({TIME_COLUMN}) OVER (PARTITION BY {key} ORDER BY {TIME_COLUMN}) AS mz_until
                FROM ranked WHERE mz_rank = 1
            ), changes AS (
                SELECT {columns}, CAST(1 AS BIGINT) AS {DIFF_COLUMN} FROM latest WHERE NOT {DELETED_COLUMN}
                UNION ALL
                SELECT {listed(desc.names)}, mz_until, CAST(-1 AS BIGINT) FROM latest
                WHERE NOT {DELETED_COLUMN} AND mz_until IS NOT NULL
            )
            SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM changes GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
        """


class ByLineage:
    """A change has the row after it, without the values that it did not send: those are the last
    ones of the row's lineage."""

    def message_desc(self, desc: RelationDesc) -> RelationDesc:
        return lineage_desc(desc)

    def sql(self, desc: RelationDesc, messages: str, state: str) -> str:
        columns, key = listed(desc.names), desc.key or ()
        was_key = listed([column.name for column in was(desc)])
        lineage = f"PARTITION BY {was_key}, {BORN_COLUMN} ORDER BY {OFFSET_COLUMN}"
        unsent = {desc.names[i]: f"mz_sent_{i}" for i in large(desc)}
        sent = "".join(
            f", last_value(IF({UNSENT_COLUMN} LIKE '%,{i},%', NULL, "
            f"struct({quoted(desc.names[i])} AS value)), true)"
            f" OVER ({lineage}) AS mz_sent_{i}"
            for i in large(desc)
        )
        on = " AND ".join(
            f"s.{quoted(name)} = m.{quoted(column.name)}"
            for name, column in zip(key, was(desc), strict=True)
        )
        lost = (
            "raise_error('reclock:XX000:a change left a value as it was, and the row is not there')"
        )
        values = ", ".join(
            f"CASE WHEN m.{unsent[name]} IS NOT NULL THEN m.{unsent[name]}.value"
            f" WHEN s.{quoted(key[0])} IS NULL THEN {lost} ELSE s.{quoted(name)} END AS "
            f"{quoted(name)}"
            if name in unsent
            else f"m.{quoted(name)}"
            for name in desc.names
        )
        return f"""
            WITH followed AS (
                SELECT *, lead({OFFSET_COLUMN}) OVER ({lineage}) IS NULL AS mz_is_last{sent} FROM {messages}
            ), latest AS (
                SELECT * FROM followed WHERE mz_is_last
            ), met AS (
                SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM {state}
                WHERE ({listed(key)}) IN (SELECT {was_key} FROM latest WHERE {BORN_COLUMN} = 0)
                GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
            ), changes AS (
                SELECT {values}, CAST(1 AS BIGINT) AS {DIFF_COLUMN}
                FROM latest m LEFT JOIN met s ON {on} AND m.{BORN_COLUMN} = 0 WHERE NOT m.{DELETED_COLUMN}
                UNION ALL
                SELECT {columns}, -{DIFF_COLUMN} FROM met
            )
            SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM changes GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
        """


def replacement(upstream: Upstream) -> Replacement:
    """How the source's rows replace each other."""
    return ByLineage() if isinstance(upstream, PostgresConnector) else ByOffset()


def listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

"""A publication and its tables, as the server describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

from reclock.algebra.relations import Column, RelationDesc, TypeName
from reclock.connectors.postgres.types import scalar_type
from reclock.definitions.sources import PostgresConnector, PublishedTable
from reclock.errors import InvalidOption

_PUBLISHED: LiteralString = """
    SELECT t.schemaname, t.tablename, c.oid::int8, ARRAY(
        WITH tree AS (SELECT c.oid AS relid UNION SELECT relid FROM pg_partition_ancestors(c.oid))
        SELECT e.oid::int8 FROM pg_publication_rel e JOIN tree ON tree.relid = e.prrelid WHERE e.prpubid = p.oid
        {by_schema}
        UNION SELECT p.oid::int8 WHERE p.puballtables
    )
    FROM pg_publication p
    JOIN pg_publication_tables t ON t.pubname = p.pubname
    JOIN pg_namespace n ON n.nspname = t.schemaname
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
    WHERE p.pubname = %(publication)s
"""
_BY_SCHEMA: LiteralString = """
        UNION SELECT e.oid::int8 FROM pg_publication_namespace e
        JOIN pg_class r ON r.relnamespace = e.pnnspid JOIN tree ON tree.relid = r.oid WHERE e.pnpubid = p.oid
"""
_SCHEMAS_SINCE = 150000
"""The first server version with publications of schemas."""

_KINDS = ("insert", "update", "delete", "truncate")
_PUBLICATION: LiteralString = (
    "SELECT pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication WHERE pubname = %s"
)

_DESCRIBE: LiteralString = """
    SELECT p.schemaname, p.tablename, c.relreplident, a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull,
        COALESCE(a.attnum = ANY (i.indkey), false)
    FROM pg_publication_tables p
    JOIN pg_namespace n ON n.nspname = p.schemaname
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND COALESCE(to_jsonb(p) -> 'attnames' @> to_jsonb(a.attname::text), true)
    LEFT JOIN pg_index i ON i.indrelid = c.oid
        AND CASE c.relreplident WHEN 'd' THEN i.indisprimary AND i.indimmediate WHEN 'i' THEN i.indisreplident ELSE false END
    WHERE p.pubname = %s
    ORDER BY p.schemaname, p.tablename, a.attnum
"""


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table as the server describes it."""

    desc: RelationDesc
    table: PublishedTable


def published_tables(connection: psycopg.Connection[Any], publication: str) -> list[PublishedTable]:
    """The tables of the publication, with the identities that they have now."""
    query = _PUBLISHED.format(
        by_schema=_BY_SCHEMA if connection.info.server_version >= _SCHEMAS_SINCE else ""
    )
    rows = connection.execute(query, {"publication": publication}).fetchall()
    return [
        PublishedTable(f"{schema}.{table}", oid, tuple(sorted(entries)))
        for schema, table, oid, entries in rows
    ]


def described_tables(
    connection: psycopg.Connection[Any], publication: str
) -> dict[str, DescribedTable]:
    """The tables of the publication, by ``schema.table``. A table has a key if its changes identify
    the old row by it; an empty key if they do not identify it."""
    published = {table.name: table for table in published_tables(connection, publication)}
    rows = connection.execute(_DESCRIBE, [publication]).fetchall()
    columns_of: dict[str, list[Column]] = {}
    keys: dict[str, list[str]] = {}
    for schema, table, identity, name, type_oid, modifier, not_null, is_key in rows:
        type = scalar_type(type_oid, modifier)
        columns_of.setdefault(f"{schema}.{table}", []).append(Column(name, type, not not_null))
        keys.setdefault(f"{schema}.{table}", []).extend(
            [name] if is_key and identity != "f" else []
        )
    full = {f"{schema}.{table}" for schema, table, identity, *_ in rows if identity == "f"}
    return {
        table: DescribedTable(
            RelationDesc(tuple(columns), key=None if table in full else tuple(keys[table])),
            published[table],
        )
        for table, columns in columns_of.items()
        if table in published
    }


def require_all_changes(connection: psycopg.Connection[Any], publication: str) -> None:
    """Raises ``InvalidOption`` if the publication does not exist, or lacks a kind of change."""
    kinds = connection.execute(_PUBLICATION, [publication]).fetchone()
    if kinds is None:
        hint = (
            "CREATE PUBLICATION … FOR TABLE … makes one, in the database that the connection names"
        )
        raise InvalidOption(f'publication "{publication}" does not exist', hint=hint)
    if missing := [
        kind for kind, is_published in zip(_KINDS, kinds, strict=True) if not is_published
    ]:
        hint = f"ALTER PUBLICATION … SET (publish = '{', '.join(_KINDS)}')"
        raise InvalidOption(
            f'publication "{publication}" does not tell of every {" and ".join(missing)}', hint=hint
        )


def unfollowed_tables(
    connection: psycopg.Connection[Any], upstream: PostgresConnector, outputs: Iterable[str]
) -> dict[str, str]:
    """The tables of ``outputs`` that the publication lacks, or did not always have, and why."""
    published = {table.name: table for table in published_tables(connection, upstream.publication)}
    initial = published | {table.name: table for table in upstream.known}
    unfollowed = {}
    for table in outputs:
        if table not in published:
            unfollowed[table] = f'is not in publication "{upstream.publication}" any more'
        elif initial[table].oid != published[table].oid:
            unfollowed[table] = "is another one of the same name"
        elif initial[table].entries and not {*initial[table].entries} & {*published[table].entries}:
            unfollowed[table] = (
                f'was taken out of publication "{upstream.publication}" and put back'
            )
    return unfollowed


def changed_tables(
    connection: psycopg.Connection[Any], publication: str, outputs: Mapping[str, RelationDesc]
) -> dict[str, str]:
    """The tables that can no longer be copied into their outputs, and why."""
    descs = {
        table: described.desc
        for table, described in described_tables(connection, publication).items()
    }
    changed = {}
    for table, desc in outputs.items():
        if table in descs and (why := _difference(desc, descs[table])):
            changed[table] = why
    return changed


def _difference(desc: RelationDesc, published: RelationDesc) -> str:
    """Why a table, as it is ``published``, cannot be copied into an output; empty if it can."""
    types = dict(zip(published.names, published.types, strict=True))
    for column in desc.columns:
        if column.name not in types:
            return f'has no column "{column.name}" any more'
        if column.type.name not in (types[column.name].name, TypeName.TEXT):
            return f'has a column "{column.name}" that is no {column.type} any more'
    if set(desc.key or ()) != set(published.key or ()) or (desc.key is None) != (
        published.key is None
    ):
        return "no longer tells which row went as it did"
    return ""

"""ALTER SOURCE: decisions about a stalled source, and retention."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.definitions.sources import PublishedTable, cannot_resnapshot
from reclock.errors import InvalidOption, quoted_name
from reclock.sql.catalog.entries import Entry, RelationEntry
from reclock.sql.catalog.lookups import find_user_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames
from reclock.sql.planning.registry import plans
from reclock.sql.statements.sources.define import duration_ms, reject_limit
from reclock.sql.statements.sources.guests import check_history
from reclock.sql.statements.sources.syntax import (
    AlterSourceOptionStatement,
    AlterSourceResnapshotStatement,
    AlterSourceRestartStatement,
    AlterSourceRetryStatement,
    AlterSourceSkipStatement,
    AlterSourceWaiveStatement,
    SkippedPartition,
    option_name,
)
from reclock.sql.statements.sources.upstream_tables import set_identity, upstream_name
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one

OFFSET_DIGITS = 80
"""More digits than an offset of any upstream has."""


def _source(node: nodes.Statement, catalog: PlannerCatalog, session: SessionNames) -> Entry:
    return find_user_object(node, "SOURCE", catalog, session)


def _host(entry: Entry) -> GlobalId | None:
    """The source whose claim a decision about a guest concerns."""
    return (
        entry.source.host if isinstance(entry, RelationEntry) and entry.source is not None else None
    )


@plans(AlterSourceRetryStatement)
def retry(
    node: AlterSourceRetryStatement, catalog: PlannerCatalog, session: SessionNames
) -> RetrySource:
    source = _source(node, catalog, session)
    return RetrySource(_host(source) or source.id, source.name)


@plans(AlterSourceResnapshotStatement)
def resnapshot(
    node: AlterSourceResnapshotStatement, catalog: PlannerCatalog, session: SessionNames
) -> ResnapshotSource:
    source = _source(node, catalog, session)
    definition = source.source if isinstance(source, RelationEntry) else None
    reason = cannot_resnapshot(definition.connector if definition is not None else None)
    if reason:
        raise InvalidOption(f"source {quoted_name(source.name)} cannot be read anew", detail=reason)
    return ResnapshotSource(_host(source) or source.id, source.name)


def with_identities(create_sql: str, published: Iterable[PublishedTable]) -> str:
    """The definition of a source over a publication, with the identities that its tables have in
    ``published``. A table that is not published keeps the identity it had."""
    created, now = parse_one(create_sql), {table.name: table for table in published}
    for table in created.args.get("tables") or ():
        if (identity := now.get(upstream_name(table))) is not None:
            set_identity(table, identity)
    return to_sql(created)


@plans(AlterSourceWaiveStatement)
def waive(
    node: AlterSourceWaiveStatement, catalog: PlannerCatalog, session: SessionNames
) -> WaiveCheck:
    source = _source(node, catalog, session)
    if not node.args["check"].name:
        raise InvalidOption("the name of a check cannot be empty")
    return WaiveCheck(_host(source) or source.id, source.name, node.args["check"].name)


@plans(AlterSourceSkipStatement)
def skip(
    node: AlterSourceSkipStatement, catalog: PlannerCatalog, session: SessionNames
) -> SkipOffsets:
    source = _source(node, catalog, session)
    definition = source.source if isinstance(source, RelationEntry) else None
    if definition is not None and (reason := getattr(definition.connector, "cannot_skip", "")):
        raise InvalidOption(
            f"offsets of source {quoted_name(source.name)} cannot be skipped", detail=reason
        )
    parts = tuple(
        part for partition in node.args["partitions"] for part in _skipped_parts(partition)
    )
    return SkipOffsets(_host(source) or source.id, source.name, tuple(dict.fromkeys(parts)))


def _skipped_parts(partition: SkippedPartition) -> list[SkippedPart]:
    name = partition.this.name
    ranges = [
        (_offset(range.this), _offset(range.args["upper"]))
        for range in partition.args.get("ranges") or ()
    ]
    for lower, upper in ranges:
        if not lower < upper < 10 ** (OFFSET_DIGITS - 1):
            raise InvalidOption(
                f"cannot skip from {lower} to {upper}",
                detail="the end is exclusive and lies after the start",
            )
    return [SkippedPart(name, *range) for range in ranges] or [SkippedPart(name)]


@plans(AlterSourceRestartStatement)
def restart(
    node: AlterSourceRestartStatement, catalog: PlannerCatalog, session: SessionNames
) -> RestartPartitions:
    source = _source(node, catalog, session)
    names = dict.fromkeys(partition.name for partition in node.args["partitions"])
    return RestartPartitions(_host(source) or source.id, source.name, tuple(names))


@plans(AlterSourceOptionStatement)
def set_option(
    node: AlterSourceOptionStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetSourceOption:
    source, option = _source(node, catalog, session), node.args.get("option")
    assert source.create_sql is not None
    name: str = node.args["name"] if option is None else option_name(option)
    value: str | None = None
    if name == "RETAIN HISTORY":
        if (host := _host(source)) is not None:
            check_history(catalog.relation(host))
        if option is not None:
            value = option.this.name
            duration_ms(value)
    elif name == "REJECT_LIMIT":
        if option is not None:
            assert isinstance(source, RelationEntry)
            assert source.source is not None
            value = option.args["value"].name
            reject_limit(source.source.connector, value)
    else:
        raise InvalidOption(
            f'option "{name.lower()}" of a source cannot be changed',
            hint="RETAIN HISTORY and REJECT_LIMIT can",
        )
    created = parse_one(source.create_sql)
    options = [other for other in created.args.get("options") or () if option_name(other) != name]
    created.set("options", [*options, *([option.copy()] if option is not None else [])] or None)
    return SetSourceOption(source.id, source.name, name, value, to_sql(created))


def _offset(number: exp.Expression) -> int:
    return int(number.name[:OFFSET_DIGITS])


@dataclass(frozen=True, slots=True)
class RetrySource:
    """Try the source's stalled claim again."""

    id: GlobalId
    name: QualifiedName
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class ResnapshotSource:
    """Have the source's next step replace its relations' rows by everything that the upstream has
    then."""

    id: GlobalId
    name: QualifiedName
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class WaiveCheck:
    """Publish the claimed step although ``check`` failed."""

    id: GlobalId
    name: QualifiedName
    check: str
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class RestartPartitions:
    """Read the ``partitions`` again from their beginnings, each as a new partition."""

    id: GlobalId
    name: QualifiedName
    partitions: tuple[str, ...]
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """The offsets ``[lower, upper)`` of ``partition``; without bounds, its whole claimed range."""

    partition: str
    lower: int | None = None
    upper: int | None = None


@dataclass(frozen=True, slots=True)
class SkipOffsets:
    """Bind the offsets of ``parts`` without reading them."""

    id: GlobalId
    name: QualifiedName
    parts: tuple[SkippedPart, ...]
    tag: str = "ALTER SOURCE"


@dataclass(frozen=True, slots=True)
class SetSourceOption:
    """The new value of a source's ``option``, as written; None resets it. ``create_sql`` has it."""

    id: GlobalId
    name: QualifiedName
    option: str
    value: str | None
    create_sql: str
    tag: str = "ALTER SOURCE"

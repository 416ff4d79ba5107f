"""COPY: a table filled from, or a query written to, lines of text or binary rows; a query written
into files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.byte_sizes import bytes_of
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, Column, RelationDesc
from reclock.algebra.text_style import TextStyle
from reclock.definitions.connections import AWS, Connection
from reclock.definitions.sinks import FILE_BYTES
from reclock.errors import (
    InvalidColumnReference,
    InvalidOption,
    SqlSyntaxError,
    UnknownColumn,
    UnsupportedSql,
    WrongObjectType,
)
from reclock.plan.relational import Constant, Get
from reclock.plan.scalars import Literal
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, parts
from reclock.sql.planning.registry import plans
from reclock.sql.statements.copy.formats import BinaryFormat, CopyFormat, LineFormat
from reclock.sql.statements.copy.syntax import CopyFiles, CopyStatement
from reclock.sql.statements.query.plan import plan_bare_query, plan_query_statement
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.sinks.column_types import check_file_columns
from reclock.sql.statements.sinks.plan import relative_path
from reclock.sql.statements.sources.name_resolver import NameResolver
from reclock.sql.statements.subscribe.plan import SubscribeQuery, plan_subscribe
from reclock.sql.statements.subscribe.syntax import SubscribeStatement
from reclock.sql.statements.tables.generated import generated_by_default
from reclock.sql.statements.tables.modify_plan import Modify, new_rows, table_named
from reclock.sql.statements.tables.targets import target_columns
from reclock.sql.syntax.consumption import tracked_copy

_CHARACTERS = ("delimiter", "quote", "escape")
_COLUMN_LISTS = ("force_quote", "force_null", "force_not_null")


@plans(CopyStatement)
def plan_copy(
    node: CopyStatement, catalog: PlannerCatalog, session: SessionNames
) -> CopyFrom | CopyTo | CopyToFiles:
    columns = node.args.get("columns")
    files = node.args.get("files")
    if files is not None:
        return _to_files(files, _copied_query(node, catalog, session), catalog, session)
    if node.args.get("is_from"):
        table = table_named(node.this, catalog, session)
        positions = _copied_positions(columns, table)
        copied = tuple(table.desc.columns[i] for i in positions)
        format = copy_format(node, [column.name for column in copied], table.desc.names)
        return CopyFrom(table.id, table.name, copied, positions, format, session.style.zone)
    query = _copied_query(node, catalog, session)
    return CopyTo(query, copy_format(node, query.desc.names), session.style)


def _copied_query(
    node: CopyStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select | SubscribeQuery:
    query = node.args.get("query")
    if isinstance(query, SubscribeStatement):
        return plan_subscribe(query, catalog, session)
    if query is not None:
        return plan_query_statement(query, catalog, session)
    entry = catalog.resolve(parts(node.this), session)
    if entry.query is not None and not entry.is_system and node.args.get("files") is None:
        raise WrongObjectType(str(entry.name), "table", entry.type.value)
    positions = _copied_positions(node.args.get("columns"), entry)
    columns = [
        exp.Column(this=exp.to_identifier(entry.desc.names[i], quoted=True)) for i in positions
    ]
    select = exp.Select(expressions=columns, from_=exp.From(this=tracked_copy(node.this)))
    return plan_bare_query(select, catalog, session)


def _copied_positions(
    columns: Sequence[exp.Expr] | None, relation: RelationEntry
) -> tuple[int, ...]:
    """The positions of the columns named, or of all that are not computed. Raises
    ``InvalidColumnReference`` for a computed column that is named."""
    computed = relation.table.computed if relation.table is not None else {}
    positions = target_columns(columns, relation)
    if columns is None:
        return tuple(position for position in positions if position not in computed)
    for position in positions:
        if position in computed:
            raise InvalidColumnReference(
                f'column "{relation.desc.names[position]}" is a generated column',
                detail="Generated columns cannot be used in COPY.",
            )
    return positions


def _to_files(
    files: CopyFiles,
    select: Select | SubscribeQuery,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> CopyToFiles:
    if isinstance(select, SubscribeQuery):
        raise UnsupportedSql(
            "COPY into files cannot run SUBSCRIBE, which does not end",
            hint="CREATE SINK … INTO FILES writes changes into files",
        )
    check_file_columns(select.desc.exported.columns, files.args["format"], "a file")
    if not select.desc.columns or len(set(select.desc.names)) < len(select.desc.names):
        raise InvalidOption(
            "files have at least one column, and each has a name of its own",
            hint="name the columns with AS",
        )
    names = NameResolver(catalog, session)
    connection = names.connection_in(tracked_copy(files), AWS)
    folder, in_bucket = files.this.name, files.this.name.startswith("s3://")
    if in_bucket and connection is None:
        raise InvalidOption(
            "COPY into a bucket needs a connection", hint="WITH (…, AWS CONNECTION = name)"
        )
    if in_bucket and not folder.removeprefix("s3://").split("/")[0]:
        raise InvalidOption(f'"{folder}" names no bucket', hint="such as 's3://bucket/folder'")
    if not in_bucket and connection is not None:
        raise InvalidOption(
            f'"{folder}" is not in a bucket', hint="with AWS CONNECTION, 's3://bucket/folder'"
        )
    return CopyToFiles(
        select,
        folder if in_bucket else relative_path(folder, "folder", "exports"),
        files.args["format"],
        _file_bytes(files),
        connection,
        frozenset(names.used),
    )


def _file_bytes(files: CopyFiles) -> int:
    size = files.args.get("max_file_size")
    if size is None:
        return FILE_BYTES
    try:
        return bytes_of(size.name)
    except ValueError as error:
        raise InvalidOption(f'MAX FILE SIZE is {error}, not "{size.name}"') from None


COPIED = StorageCollectionId(GlobalId("t0"))
"""The numbers of the rows that are copied."""


def defaults(
    statement: CopyFrom, table: RelationEntry, catalog: PlannerCatalog, session: SessionNames
) -> Modify:
    """A row of NULLs with the defaults of the columns that are not copied, as an INSERT: one for
    all rows if the defaults are constants, else one for each row of ``COPIED``."""
    null_columns = {
        position: Literal(None, table.desc.types[position]) for position in statement.positions
    }
    row = new_rows(Constant(((),), RelationDesc(())), null_columns, table, session)
    if not isinstance(row, Constant):
        numbers = Get(COPIED, "copied", RelationDesc((Column("number", BIGINT),)))
        row = new_rows(numbers, null_columns, table, session)
    generated = (
        generated_by_default(table, i, catalog)
        for i in range(len(table.desc))
        if i not in null_columns
    )
    return Modify(
        "INSERT",
        table.id,
        table.desc,
        row,
        generated=tuple(values for values in generated if values is not None),
    )


def copy_format(
    node: CopyStatement, copied: Sequence[str], of_table: Sequence[str] = ()
) -> CopyFormat:
    """The format that the options describe, for the columns ``copied``, which may be some of those
    ``of_table``. Raises ``InvalidOption``, ``UnsupportedSql``, ``SqlSyntaxError``, ``UnknownColumn``,
    ``InvalidColumnReference``."""
    options: dict[str, str | bool] = {}
    column_lists: dict[str, exp.Expr] = {}
    for option in node.args.get("options") or ():
        name, value = fold(option.this), option.args["value"]
        if name in options or name in column_lists:
            raise SqlSyntaxError("conflicting or redundant options", hint=f"{name} is given twice")
        if name in _COLUMN_LISTS:
            column_lists[name] = value
        elif name == "header":
            options[name] = _switch(value)
        else:
            options[name] = fold(value) if isinstance(value, exp.Identifier) else value.name
    kind = str(options.pop("format", "text")).lower()
    if kind not in ("text", "csv", "binary"):
        raise InvalidOption(f'COPY format "{kind}" not recognized', hint="use text, csv or binary")
    encoding = str(options.pop("encoding", "utf8")).lower().replace("-", "")
    if encoding not in ("utf8", "unicode"):
        raise UnsupportedSql(f"COPY encoding {encoding} is not supported", hint="use UTF8")
    unknown = options.keys() - {"delimiter", "null", "header", "quote", "escape"}
    if unknown:
        raise InvalidOption(f'option "{min(unknown)}" not recognized')
    is_csv = kind == "csv"
    if kind == "binary" and options:
        raise SqlSyntaxError(f"cannot specify {min(options).upper()} in BINARY mode")
    for name in column_lists:
        _check_column_list(name, is_csv=is_csv, is_from=bool(node.args.get("is_from")))
    if kind == "binary":
        return BinaryFormat()
    if not is_csv and options.keys() & {"quote", "escape"}:
        raise UnsupportedSql("COPY QUOTE and ESCAPE require CSV mode")
    for name in _CHARACTERS:
        if name in options and (
            len(str(options[name])) != 1
            or not str(options[name]).isascii()
            or str(options[name]) in "\r\n"
        ):
            raise InvalidOption(f"COPY {name} must be a single one-byte character")
    quote = str(options.get("quote", '"'))
    return LineFormat(
        is_csv,
        str(options.get("delimiter", "," if is_csv else "\t")),
        str(options.get("null", "" if is_csv else "\\N")),
        bool(options.get("header", False)),
        quote,
        str(options.get("escape", quote)),
        *(_positions(name, column_lists.get(name), copied, of_table) for name in _COLUMN_LISTS),
    )


def _check_column_list(name: str, *, is_csv: bool, is_from: bool) -> None:
    if not is_csv:
        raise UnsupportedSql(f"COPY {name.upper()} requires CSV mode")
    if is_from == (name == "force_quote"):
        direction = "FROM" if is_from else "TO"
        raise UnsupportedSql(f"COPY {name.upper()} cannot be used with COPY {direction}")


def _positions(
    option: str, columns: exp.Expr | None, copied: Sequence[str], of_table: Sequence[str]
) -> frozenset[int]:
    """The positions of the columns that the option names among those that are copied."""
    if columns is None:
        return frozenset()
    if isinstance(columns, exp.Star):
        return frozenset(range(len(copied)))
    if not isinstance(columns, exp.Tuple):
        raise InvalidOption(f'argument to option "{option}" must be a list of column names')
    names = [fold(column) for column in columns.expressions]
    for name in names:
        if name in copied:
            continue
        if name not in of_table:
            raise UnknownColumn(name)
        raise InvalidColumnReference(f'{option.upper()} column "{name}" not referenced by COPY')
    return frozenset(copied.index(name) for name in names)


def _switch(value: exp.Expr) -> bool:
    if isinstance(value, exp.Boolean):
        return bool(value.this)
    word = value.name.lower()
    if word not in ("true", "on", "1", "false", "off", "0"):
        raise InvalidOption(f'header requires a Boolean value, not "{word}"')
    return word in ("true", "on", "1")


@dataclass(frozen=True, slots=True)
class CopyFrom:
    """``columns``, which are at ``positions`` of the table, come from the client; the others get
    their defaults. Moments that name no time zone are in ``zone``."""

    table: GlobalId
    name: QualifiedName
    columns: tuple[Column, ...]
    positions: tuple[int, ...]
    format: CopyFormat
    zone: str
    tag: str = "COPY"


@dataclass(frozen=True, slots=True)
class CopyTo:
    """The rows of a query, or its changes, go to the client, in the style."""

    select: Select | SubscribeQuery
    format: CopyFormat
    style: TextStyle
    tag: str = "COPY"


@dataclass(frozen=True, slots=True)
class CopyToFiles:
    """The rows of a query go into files of about ``file_bytes`` bytes in ``folder``: over the AWS
    ``connection`` into a bucket (``s3://…``), without one into a path below the setting exports.
    ``uses`` has the connection's id."""

    select: Select
    folder: str
    format: str
    file_bytes: int
    connection: Connection | None
    uses: frozenset[GlobalId]
    tag: str = "COPY"

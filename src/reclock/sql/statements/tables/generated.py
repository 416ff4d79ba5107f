"""Columns that take their default from a sequence: SERIAL, IDENTITY, and DEFAULT nextval(…)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.errors import GeneratedAlways, InvalidConstraint, UnknownObject, UnknownRelation
from reclock.sql.catalog.definitions import GeneratedColumn
from reclock.sql.catalog.entries import RelationEntry, SequenceEntry
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, parts
from reclock.sql.queries.type_names import scalar_type
from reclock.sql.statements.sequences.calls import sequence_named
from reclock.sql.statements.sequences.definitions import define_sequence, sequence_text
from reclock.sql.statements.sequences.syntax import SequenceOptions
from reclock.sql.statements.tables.syntax import CreateTableStatement, TableColumn
from reclock.sql.syntax.consumption import consume, tracked_copy

_SERIAL = {
    "smallserial": exp.DType.SMALLINT,
    "serial2": exp.DType.SMALLINT,
    "serial": exp.DType.INT,
    "serial4": exp.DType.INT,
    "bigserial": exp.DType.BIGINT,
    "serial8": exp.DType.BIGINT,
}


@dataclass(frozen=True, slots=True)
class GeneratedValues:
    """The column at ``position`` takes values of the sequence, in these ``rows``, or in all."""

    position: int
    sequence: GlobalId
    rows: tuple[int, ...] | None = None
    is_identity: bool = False


def name_sequences(
    node: CreateTableStatement, table: QualifiedName, catalog: PlannerCatalog, session: SessionNames
) -> tuple[tuple[QualifiedName, str], ...]:
    """Bring the generated columns of ``node`` into the form that is kept: with the full names of
    their sequences. Returns name and definition of each sequence that belongs to a column."""
    owned: list[tuple[QualifiedName, str]] = []
    for column in node.args["columns"]:
        options: SequenceOptions | None = column.args.get("options")
        serial = _serial_type(column)
        if serial is None and options is None:
            name_default(column, catalog, session)
            continue
        if serial is not None:
            if column.args.get("default") is not None:
                raise InvalidConstraint(
                    f'multiple default values specified for column "{fold(column.this)}" of table '
                    f'"{table.item}"',
                    sqlstate="42601",
                )
            consume(column.args["kind"])
            column.set("kind", exp.DataType(this=serial, nested=False))
        preferred = table.sibling(f"{table.item}_{fold(column.this)}_seq")
        if options is not None and options.args.get("name") is not None:
            preferred = catalog.locate(parts(options.args["name"]), session)
        name = catalog.free_name(preferred, [sequence.item for sequence, _ in owned])
        owned.append((name, _sequence(name, table, column)))
        column.set("not_null", True)
        if serial is not None:
            column.set("default", next_value_of(parts(name.to_table())))
        else:
            column.set("options", SequenceOptions(name=name.to_table()))
    return tuple(owned)


def name_default(column: TableColumn, catalog: PlannerCatalog, session: SessionNames) -> None:
    """Give the sequence in the column's default its full name. Raises ``UnknownRelation``."""
    written = sequence_named(column.args.get("default"))
    if written is not None:
        sequence = find_sequence(written, catalog, session)
        column.set("default", next_value_of(parts(sequence.name.to_table())))


def _serial_type(column: TableColumn) -> exp.DType | None:
    kind = column.args["kind"]
    if not isinstance(kind, exp.DataType) or not isinstance(kind.this, exp.DType):
        return None  # as of interval year to month
    named = kind.args.get("kind")
    name = named.name if isinstance(named, exp.Identifier) else str(kind.this.value)
    return _SERIAL.get(name.lower())


def _sequence(name: QualifiedName, table: QualifiedName, column: TableColumn) -> str:
    kind = scalar_type(column.args["kind"])
    if str(kind) not in ("smallint", "integer", "bigint"):
        raise InvalidConstraint(
            "identity column type must be smallint, integer, or bigint", sqlstate="22023"
        )
    options = column.args.get("options") or SequenceOptions()
    owner = (parts(table.to_table()), fold(column.this))
    return sequence_text(name, replace(define_sequence(options, kind), owner=owner))


def generated_columns(node: CreateTableStatement) -> Mapping[int, GeneratedColumn]:
    """The generated columns of a definition in the form that is kept, by position."""
    generated = {}
    for i, column in enumerate(node.args["columns"]):
        called = sequence_named(column.args.get("default"))
        if column.args.get("identity"):
            sequence = parts(column.args["options"].args["name"])
            generated[i] = GeneratedColumn(sequence, column.args["identity"])
        elif called is not None:
            generated[i] = GeneratedColumn(called)
    return generated


def next_value_of(sequence: tuple[str, ...]) -> exp.Anonymous:
    """A call of ``nextval`` for the sequence with this full name."""
    name = QualifiedName(sequence[0] if len(sequence) == 3 else None, sequence[-2], sequence[-1])
    return exp.Anonymous(this="nextval", expressions=[exp.Literal.string(str(name))])


def generated_by_default(
    table: RelationEntry, position: int, catalog: PlannerCatalog
) -> GeneratedValues | None:
    """The values of a column that a statement does not name, if a sequence generates them."""
    column = table.table.generated.get(position) if table.table is not None else None
    if column is None:
        return None
    sequence = find_object(column.sequence, "SEQUENCE", catalog, SessionNames())
    return GeneratedValues(position, sequence.id, is_identity=column.identity is not None)


def find_sequence(
    written: tuple[str, ...], catalog: PlannerCatalog, session: SessionNames
) -> SequenceEntry:
    """The sequence that a call names. Raises ``UnknownRelation``, ``WrongObjectType``."""
    try:
        entry = find_object(written, "SEQUENCE", catalog, session)
    except UnknownObject as error:  # a call names a relation, as any cast to regclass
        raise UnknownRelation(".".join(written)) from error
    assert isinstance(entry, SequenceEntry)
    return entry


def is_identity(table: RelationEntry, position: int) -> bool:
    """Whether the column is an identity column."""
    column = table.table.generated.get(position) if table.table is not None else None
    return column is not None and column.identity is not None


def check_always(
    node: exp.Expr, values: exp.Values | None, positions: Sequence[int], table: RelationEntry
) -> None:
    """Raises ``GeneratedAlways`` if an INSERT gives a value to a column that is GENERATED ALWAYS.
    A query, for which ``values`` is None, gives one to each of ``positions``."""
    assert table.table is not None
    for i, position in enumerate(positions):
        is_computed = position in table.table.computed
        is_overridden = bool(node.args.get("overriding")) and not is_computed
        if is_overridden or not table.table.is_generated_always(position):
            continue
        expressions = (
            [row.expressions[i : i + 1] for row in values.expressions] if values else [[node]]
        )
        if any(value and not is_default(value[0]) for value in expressions):
            raise GeneratedAlways(table.desc.names[position], is_computed=is_computed)


def check_always_updated(value: exp.Expr, position: int, table: RelationEntry) -> None:
    """Raises ``GeneratedAlways`` if an UPDATE assigns to a column that is GENERATED ALWAYS."""
    assert table.table is not None
    if table.table.is_generated_always(position) and not is_default(value):
        is_computed = position in table.table.computed
        raise GeneratedAlways(table.desc.names[position], is_computed=is_computed, is_update=True)


def without_sequences(query: exp.Expr | None) -> tuple[exp.Expr | None, dict[int, tuple[str, ...]]]:
    """The query with NULL for each ``nextval`` in its select list, and the sequences by position."""
    if not isinstance(query, exp.Select) or query.args.get("distinct"):
        return query, {}
    items = list(query.expressions)
    named = {}
    for i, item in enumerate(items):
        sequence = sequence_named(item.this if isinstance(item, exp.Alias) else item)
        if sequence is not None:
            named[i] = sequence
            items[i] = exp.alias_(exp.Null(), f"column{i}", copy=False)
    if not named:
        return query, {}
    changed = tracked_copy(query)
    changed.set(
        "expressions",
        [items[i] if i in named else changed.expressions[i] for i in range(len(items))],
    )
    return changed, named


def is_default(node: exp.Expr) -> bool:
    """Whether ``node`` is the word DEFAULT."""
    if isinstance(node, exp.Column):
        return (
            not node.args.get("table")
            and not node.this.args.get("quoted")
            and node.name.upper() == "DEFAULT"
        )
    return isinstance(node, exp.Var) and node.name.upper() == "DEFAULT"

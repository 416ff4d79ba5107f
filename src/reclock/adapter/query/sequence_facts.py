"""Sequences, and defaults that call them, as PostgreSQL's clients read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from reclock.algebra.sequences import SequencePosition
from reclock.introspection.relation import SequenceFacts
from reclock.sql.catalog.entries import RelationEntry, SequenceEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import DEFAULT_SCHEMA, SessionNames, parts, quote
from reclock.sql.statements.sequences.calls import sequence_named
from reclock.sql.syntax.dialect import to_sql


def sequence_facts(
    catalog: PlannerCatalog, positions: Mapping[str, SequencePosition]
) -> Iterator[SequenceFacts]:
    """Every sequence. ``positions`` are by incarnation."""
    for entry in catalog.sequences():
        sequence, position = entry.sequence, positions.get(entry.incarnation)
        table = _owner(entry, catalog)
        owner, is_identity = None, False
        if table is not None and table.table is not None and sequence.owner is not None:
            index = table.desc.names.index(sequence.owner[1])
            column = table.table.generated.get(index)
            name = parts(entry.name.to_table())
            owner = (table.id, index + 1)
            is_identity = column is not None and column.identity is not None
            is_identity = is_identity and column is not None and column.sequence == name
        yield SequenceFacts(
            entry.id,
            sequence.type,
            sequence.start,
            sequence.increment,
            sequence.minimum,
            sequence.maximum,
            sequence.cache,
            sequence.is_cyclic,
            owner,
            is_identity,
            position.last_value if position is not None and position.is_called else None,
        )


def _owner(entry: SequenceEntry, catalog: PlannerCatalog) -> RelationEntry | None:
    if entry.sequence.owner is None:
        return None
    table = catalog.find(entry.sequence.owner[0], SessionNames())
    is_there = isinstance(table, RelationEntry) and entry.sequence.owner[1] in table.desc.names
    return table if is_there and isinstance(table, RelationEntry) else None


def default_text(default: exp.Expr) -> str:
    """The text of a default, as ``pg_get_expr`` prints it: clients look for ``nextval`` of a
    ``regclass``."""
    sequence = sequence_named(default)
    if sequence is None:
        return to_sql(default)
    *_, schema, name = sequence
    name_text = quote(name) if schema == DEFAULT_SCHEMA else f"{quote(schema)}.{quote(name)}"
    return f"nextval({exp.Literal.string(name_text).sql('postgres')}::regclass)"

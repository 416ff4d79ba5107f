"""The constraints of tables, as the relations of ``pg_catalog`` describe them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import constraint_oid, object_oid
from reclock.introspection.relation import ConstraintFacts, Reference
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import fold, parts, quote
from reclock.sql.queries.index_keys import key_text
from reclock.sql.syntax.dialect import to_sql

_KEYS = (ConstraintKind.PRIMARY_KEY, ConstraintKind.UNIQUE)
_TYPES = {
    ConstraintKind.PRIMARY_KEY: "p",
    ConstraintKind.UNIQUE: "u",
    ConstraintKind.UNIQUE_INDEX: "i",
    ConstraintKind.FOREIGN_KEY: "f",
    ConstraintKind.CHECK: "c",
}


def constraint_facts(catalog: PlannerCatalog) -> dict[GlobalId, list[ConstraintFacts]]:
    """The constraints of each table and source. A foreign key whose target was dropped or lost the
    columns is left out: PostgreSQL would have dropped it."""
    tables = {
        parts(entry.name.to_table()): entry
        for entry in catalog.relations()
        if entry.table is not None
    }
    return {
        entry.id: list(_facts(entry, tables))
        for entry in catalog.relations()
        if entry.table is not None or entry.constraints
    }


def _facts(
    entry: RelationEntry, tables: dict[tuple[str, ...], RelationEntry]
) -> Iterator[ConstraintFacts]:
    for place, constraint in enumerate(entry.constraints):
        reference = None
        if constraint.kind is ConstraintKind.FOREIGN_KEY:
            target = tables.get(constraint.target)
            if target is None or not set(constraint.target_columns) <= set(target.desc.names):
                continue
            reference = _reference(constraint, target)
        key = [key_text(part) for part in constraint.keys]
        yield ConstraintFacts(
            constraint_oid(entry.id, place),
            constraint.name,
            "i" if constraint.is_index else _TYPES[constraint.kind],
            _index_positions(entry, constraint) if key else _positions(entry, constraint.columns),
            tuple(key or map(quote, constraint.columns)),
            constraint.is_deferrable,
            constraint.is_deferred,
            constraint.are_nulls_equal,
            constraint.is_enforced and constraint.is_valid,
            to_sql(constraint.condition) if constraint.condition is not None else None,
            reference,
            ", ".join(
                part
                for part, node in zip(key, constraint.keys, strict=True)
                if not isinstance(node, exp.Column)
            )
            or None,
            f"({to_sql(constraint.predicate)})" if constraint.predicate is not None else None,
            constraint.comment,
            constraint.orders,
            _positions(entry, constraint.included),
            tuple(map(quote, constraint.included)),
        )


def _index_positions(entry: RelationEntry, constraint: Constraint) -> tuple[int, ...]:
    """The position of each key; 0 for an expression."""
    return tuple(
        entry.desc.names.index(fold(key.this)) + 1 if isinstance(key, exp.Column) else 0
        for key in constraint.keys
    )


def _reference(constraint: Constraint, target: RelationEntry) -> Reference:
    assert target.table is not None
    columns = constraint.target_columns
    keys = [
        (place, constraint)
        for place, constraint in enumerate(target.table.constraints)
        if constraint.kind in _KEYS
    ]
    # As in PostgreSQL, the primary key comes before other keys.
    keys.sort(key=lambda key: key[1].kind is not ConstraintKind.PRIMARY_KEY)
    index_oid, key = next(
        (
            (constraint_oid(target.id, place), key.columns)
            for place, key in keys
            if set(key.columns) == set(columns)
        ),
        (0, ()),
    )
    return Reference(
        object_oid(target.id),
        _positions(target, columns),
        _key(columns),
        index_oid,
        tuple(key.index(column) + 1 if key else None for column in columns),
        constraint.match,
        constraint.on_update,
        constraint.on_delete,
    )


def _positions(entry: RelationEntry, columns: Sequence[str]) -> tuple[int, ...]:
    return tuple(entry.desc.names.index(column) + 1 for column in columns)


def _key(columns: Sequence[str]) -> str:
    return ", ".join(quote(column) for column in columns)

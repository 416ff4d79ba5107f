"""The constraints of tables, in the catalogs that PostgreSQL's clients read."""

from __future__ import annotations

from collections.abc import Iterator

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BOOLEAN, INTEGER, OID, SMALLINT, TEXT, array
from reclock.introspection.relation import Builtin, CatalogState, ConstraintFacts, Rows, desc
from reclock.introspection.views import views

_ACTIONS = {"NO ACTION": "a", "RESTRICT": "r", "CASCADE": "c", "SET NULL": "n", "SET DEFAULT": "d"}
_MATCHES = {"FULL": "f", "SIMPLE": "s"}


def _all_constraints(state: CatalogState) -> Iterator[tuple[GlobalId, ConstraintFacts]]:
    return (
        (table, facts)
        for table, constraints in state.constraints().items()
        for facts in constraints
    )


def _constraints(state: CatalogState) -> Rows:
    for table, facts in _all_constraints(state):
        target = facts.reference
        index = facts.oid if facts.has_index else target.index_oid if target is not None else 0
        codes = (" ", " ", " ")
        if target is not None:
            codes = (_ACTIONS[target.on_update], _ACTIONS[target.on_delete], _MATCHES[target.match])
        yield (
            facts.oid,
            facts.name,
            object_oid(table),
            facts.type,
            facts.positions or None,
            facts.is_deferrable,
            facts.is_deferred,
            index,
            target.table_oid if target is not None else 0,
            target.positions if target is not None else None,
            *codes,
            f"({facts.condition})" if facts.condition is not None else None,
            *_definition(facts),
            facts.is_enforced,
        )


def _definition(facts: ConstraintFacts) -> tuple[str, str]:
    """The constraint as SQL: the text before the name of the table that it refers to, and after it.

    A constraint that is not enforced reads NOT VALID: clients of this version of PostgreSQL look
    for nothing else.
    """
    deferrable = " DEFERRABLE" if facts.is_deferrable else ""
    deferrable += " INITIALLY DEFERRED" if facts.is_deferred else ""
    unchecked = "" if facts.is_enforced else " NOT VALID"
    target = facts.reference
    if target is not None:
        match = " MATCH FULL" if target.match == "FULL" else ""
        on_update = f" ON UPDATE {target.on_update}" if target.on_update != "NO ACTION" else ""
        on_delete = f" ON DELETE {target.on_delete}" if target.on_delete != "NO ACTION" else ""
        definition_after_target = (
            f"({target.key}){match}{on_update}{on_delete}{deferrable}{unchecked}"
        )
        return f"FOREIGN KEY ({facts.key}) REFERENCES ", definition_after_target
    if facts.condition is not None:
        return f"CHECK (({facts.condition})){unchecked}", ""
    kind = "PRIMARY KEY" if facts.type == "p" else "UNIQUE"
    nulls = " NULLS NOT DISTINCT" if facts.are_nulls_equal else ""
    included = f" INCLUDE ({', '.join(facts.included_names)})" if facts.included else ""
    return f"{kind}{nulls} ({facts.key}){included}{deferrable}", ""


def _constraint_columns(state: CatalogState) -> Rows:
    for _, facts in _all_constraints(state):
        if facts.type == "i":
            continue
        target = facts.reference
        for i, position in enumerate(facts.positions):
            target_positions = (
                (None, None) if target is None else (target.positions[i], target.key_positions[i])
            )
            yield facts.oid, i + 1, position, *target_positions


CONSTRAINTS: tuple[Builtin, ...] = (
    Builtin(
        "mz_internal",
        "mz_constraints",
        desc(
            "oid",
            oid=OID,
            name=TEXT,
            table_oid=OID,
            type=TEXT,
            positions=array(SMALLINT),
            is_deferrable=BOOLEAN,
            is_deferred=BOOLEAN,
            index_oid=OID,
            target_oid=OID,
            target_positions=array(SMALLINT),
            on_update=TEXT,
            on_delete=TEXT,
            match=TEXT,
            condition=TEXT,
            definition=TEXT,
            definition_after_target=TEXT,
            is_enforced=BOOLEAN,
        ),
        catalog_rows=_constraints,
    ),
    Builtin(
        "mz_internal",
        "mz_constraint_columns",
        desc(
            "oid",
            "place",
            oid=OID,
            place=INTEGER,
            position=SMALLINT,
            target_position=SMALLINT,
            place_in_target_key=INTEGER,
        ),
        catalog_rows=_constraint_columns,
    ),
    *views("mz_internal", "mz_constraint_definitions", "mz_objects_and_keys"),
    *views("pg_catalog", "pg_constraint"),
    *views(
        "information_schema",
        "table_constraints",
        "key_column_usage",
        "constraint_column_usage",
        "check_constraints",
        "referential_constraints",
    ),
)

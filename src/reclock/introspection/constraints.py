"""The constraints that tables declare, as PostgreSQL's clients ask about them: none is enforced but NOT NULL."""

from __future__ import annotations

from collections.abc import Iterator

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BOOLEAN, INTEGER, OID, SMALLINT, TEXT, array
from reclock.introspection.relation import Builtin, ConstraintFacts, Rows, SystemState, desc
from reclock.introspection.views import views

_ACTIONS = {"NO ACTION": "a", "RESTRICT": "r", "CASCADE": "c", "SET NULL": "n", "SET DEFAULT": "d"}
_MATCHES = {"FULL": "f", "SIMPLE": "s"}


def _all(state: SystemState) -> Iterator[tuple[GlobalId, ConstraintFacts]]:
    return ((table, facts) for table, constraints in state.constraints().items() for facts in constraints)


def _constraints(state: SystemState) -> Rows:
    for table, facts in _all(state):
        to = facts.reference
        index = facts.oid if facts.has_index else to.index_oid if to is not None else 0
        words = (" ", " ", " ") if to is None else (_ACTIONS[to.on_update], _ACTIONS[to.on_delete], _MATCHES[to.match])
        yield (
            facts.oid,
            facts.name,
            object_oid(table),
            facts.type,
            facts.positions or None,
            facts.is_deferrable,
            facts.is_deferred,
            index,
            to.table_oid if to is not None else 0,
            to.positions if to is not None else None,
            *words,
            f"({facts.condition})" if facts.condition is not None else None,
            *_definition(facts),
        )


def _definition(facts: ConstraintFacts) -> tuple[str, str]:
    """As SQL, before and after the name of the table that it refers to.

    A constraint that is not enforced is NOT VALID: all that clients of this version of PostgreSQL read.
    """
    deferrable = f"{' DEFERRABLE' if facts.is_deferrable else ''}{' INITIALLY DEFERRED' if facts.is_deferred else ''}"
    to = facts.reference
    if to is not None:
        match = " MATCH FULL" if to.match == "FULL" else ""
        on_update = f" ON UPDATE {to.on_update}" if to.on_update != "NO ACTION" else ""
        on_delete = f" ON DELETE {to.on_delete}" if to.on_delete != "NO ACTION" else ""
        rest = f"({to.key}){match}{on_update}{on_delete}{deferrable} NOT VALID"
        return f"FOREIGN KEY ({facts.key}) REFERENCES ", rest
    if facts.condition is not None:
        return f"CHECK (({facts.condition})) NOT VALID", ""
    kind = "PRIMARY KEY" if facts.type == "p" else "UNIQUE"
    return f"{kind}{' NULLS NOT DISTINCT' if facts.are_nulls_equal else ''} ({facts.key}){deferrable}", ""


def _constraint_columns(state: SystemState) -> Rows:
    for _, facts in _all(state):
        to = facts.reference
        for place, position in enumerate(facts.positions):
            target = (to.positions[place], to.key_positions[place]) if to is not None else (None, None)
            yield facts.oid, place + 1, position, *target


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
        ),
        _constraints,
    ),
    Builtin(
        "mz_internal",
        "mz_constraint_columns",
        desc("oid", "place", oid=OID, place=INTEGER, position=SMALLINT, target_position=SMALLINT, place_in_target_key=INTEGER),
        _constraint_columns,
    ),
    *views(
        "mz_internal",
        "mz_constraint_definitions",
        "mz_objects_and_keys",
    ),
    *views(
        "pg_catalog",
        "pg_constraint",
    ),
    *views(
        "information_schema",
        "table_constraints",
        "key_column_usage",
        "constraint_column_usage",
        "check_constraints",
        "referential_constraints",
    ),
)

"""The constraints that tables declare, as PostgreSQL's clients ask about them: none is enforced but NOT NULL."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, OID, SMALLINT, TEXT, ScalarType, array
from reclock.introspection.relation import Builtin, ConstraintFacts, Rows, SystemState, desc, view

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


def _words(column: str, words: dict[str, str]) -> str:
    """The words that the letters in ``column`` stand for."""
    cases = " ".join(f"WHEN '{letter}' THEN '{word}'" for word, letter in words.items())
    return f"CASE {column} {cases} END"


_information = partial(view, "information_schema")
_OF_CONSTRAINT = """current_database(), cn.nspname, c.conname"""
_TABLE = """current_database(), n.nspname, t.relname"""
_FROM = """FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace cn ON cn.oid = c.connamespace
    JOIN pg_catalog.pg_class t ON t.oid = {of} JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace"""
_NOT_NULL = """FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class t ON t.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace WHERE a.attnotnull AND t.relkind = 'r'"""
_NAME_OF_NOT_NULL = "current_database(), n.nspname, t.relname || '_' || a.attname || '_not_null'"


def _texts(*names: str) -> dict[str, ScalarType]:
    return dict.fromkeys(names, TEXT)


_NAMES = ("constraint_catalog", "constraint_schema", "constraint_name")
_TABLE_NAMES = ("table_catalog", "table_schema", "table_name")

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
    view(
        "mz_internal",
        "mz_constraint_definitions",
        """SELECT c.oid, c.definition || coalesce(v.shown_name, '') || c.definition_after_target
        FROM mz_internal.mz_constraints c LEFT JOIN mz_internal.mz_visible_relations v ON v.oid = c.target_oid""",
        ("oid",),
        oid=OID,
        definition=TEXT,
    ),
    # Objects, and the indexes that PostgreSQL would have for constraints.
    view(
        "mz_internal",
        "mz_objects_and_keys",
        """SELECT id, oid, schema_id, name, type, owner_id FROM mz_catalog.mz_objects
        UNION ALL SELECT t.id, c.oid, t.schema_id, c.name, 'index', t.owner_id
        FROM mz_internal.mz_constraints c JOIN mz_catalog.mz_objects t ON t.oid = c.table_oid WHERE c.type IN ('p', 'u')""",
        ("oid",),
        id=TEXT,
        oid=OID,
        schema_id=BIGINT,
        name=TEXT,
        type=TEXT,
        owner_id=TEXT,
    ),
    view(
        "pg_catalog",
        "pg_constraint",
        """SELECT c.oid, c.name, t.relnamespace, c.type, c.is_deferrable, c.is_deferred, FALSE, c.type IN ('p', 'u'),
        c.table_oid, 0, c.index_oid, 0, c.target_oid, c.on_update, c.on_delete, c.match, TRUE, 0, c.type <> 'c',
        c.positions, c.target_positions, c.condition
        FROM mz_internal.mz_constraints c JOIN pg_catalog.pg_class t ON t.oid = c.table_oid""",
        ("oid",),
        oid=OID,
        conname=TEXT,
        connamespace=OID,
        contype=TEXT,
        condeferrable=BOOLEAN,
        condeferred=BOOLEAN,
        conenforced=BOOLEAN,
        convalidated=BOOLEAN,
        conrelid=OID,
        contypid=OID,
        conindid=OID,
        conparentid=OID,
        confrelid=OID,
        confupdtype=TEXT,
        confdeltype=TEXT,
        confmatchtype=TEXT,
        conislocal=BOOLEAN,
        coninhcount=SMALLINT,
        connoinherit=BOOLEAN,
        conkey=array(SMALLINT),
        confkey=array(SMALLINT),
        conbin=TEXT,
    ),
    _information(
        "table_constraints",
        f"""SELECT {_OF_CONSTRAINT}, {_TABLE},
        CASE c.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' WHEN 'f' THEN 'FOREIGN KEY' ELSE 'CHECK' END,
        CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END, CASE WHEN c.condeferred THEN 'YES' ELSE 'NO' END, 'NO',
        CASE WHEN x.indnullsnotdistinct THEN 'NO' WHEN c.contype = 'u' THEN 'YES' END
        {_FROM.format(of="c.conrelid")} LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.oid
        UNION ALL SELECT {_NAME_OF_NOT_NULL}, {_TABLE}, 'CHECK', 'NO', 'NO', 'YES', NULL {_NOT_NULL}""",
        **_texts(*_NAMES, *_TABLE_NAMES, "constraint_type", "is_deferrable", "initially_deferred", "enforced", "nulls_distinct"),
    ),
    _information(
        "key_column_usage",
        f"""SELECT {_OF_CONSTRAINT}, {_TABLE}, a.attname, k.place, k.place_in_target_key {_FROM.format(of="c.conrelid")}
        JOIN mz_internal.mz_constraint_columns k ON k.oid = c.oid
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.position WHERE c.contype <> 'c'""",
        **_texts(*_NAMES, *_TABLE_NAMES, "column_name"),
        ordinal_position=INTEGER,
        position_in_unique_constraint=INTEGER,
    ),
    _information(
        "constraint_column_usage",
        f"""SELECT {_TABLE}, a.attname, {_OF_CONSTRAINT}
        {_FROM.format(of="CASE c.contype WHEN 'f' THEN c.confrelid ELSE c.conrelid END")}
        JOIN mz_internal.mz_constraint_columns k ON k.oid = c.oid
        JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = coalesce(k.target_position, k.position)
        UNION ALL SELECT {_TABLE}, a.attname, {_NAME_OF_NOT_NULL} {_NOT_NULL}""",
        **_texts(*_TABLE_NAMES, "column_name", *_NAMES),
    ),
    _information(
        "check_constraints",
        f"""SELECT {_OF_CONSTRAINT}, c.conbin
        FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace cn ON cn.oid = c.connamespace WHERE c.contype = 'c'
        UNION ALL SELECT {_NAME_OF_NOT_NULL}, quote_ident(a.attname) || ' IS NOT NULL' {_NOT_NULL}""",
        **_texts(*_NAMES, "check_clause"),
    ),
    _information(
        "referential_constraints",
        f"""SELECT {_OF_CONSTRAINT}, CASE WHEN u.oid IS NOT NULL THEN current_database() END, un.nspname, u.conname,
        {_words("c.confmatchtype", _MATCHES).replace("SIMPLE", "NONE")},
        {_words("c.confupdtype", _ACTIONS)}, {_words("c.confdeltype", _ACTIONS)}
        FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace cn ON cn.oid = c.connamespace
        LEFT JOIN pg_catalog.pg_constraint u ON u.oid = c.conindid
        LEFT JOIN pg_catalog.pg_namespace un ON un.oid = u.connamespace WHERE c.contype = 'f'""",
        **_texts(
            *_NAMES,
            "unique_constraint_catalog",
            "unique_constraint_schema",
            "unique_constraint_name",
            "match_option",
            "update_rule",
            "delete_rule",
        ),
    ),
)

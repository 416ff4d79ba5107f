"""What ``pg_catalog`` and ``information_schema`` are made of beside the relations of ``mz_catalog``."""

from __future__ import annotations

from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import TEXTS, column_type_modifier, column_type_oid, object_oid, type_oid, type_rows
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, OID, OIDVECTOR, REGPROC, SMALLINT, TEXT, array
from reclock.catalog.acl import PUBLIC_ROLE_ID, AclItem, names
from reclock.catalog.kinds import Owned, identity
from reclock.catalog.objects import Kind
from reclock.catalog.roles import held, shown_acl
from reclock.introspection.relation import Builtin, Rows, SystemState, desc, view
from reclock.introspection.type_functions import functions_of, type_function_rows
from reclock.plan.functions.moments import zones

_ON = ((Kind.ITEM, "relation"), (Kind.SCHEMA, "schema"), (Kind.DATABASE, "database"))


def _types(state: SystemState) -> Rows:
    for each in type_rows():
        element = each.type.element
        of = 0 if element is None else type_oid(element)
        functions = astuple(functions_of(each.name))
        yield each.oid, each.array_oid, each.name, _sql_name(each.type), each.size, each.category, of, *functions
    for name, (oid, array_oid, sql_name, size, category) in TEXTS.items():
        yield oid, array_oid, name, sql_name, size, category, 0, *astuple(functions_of(name))


def _sql_name(type: object) -> str:
    """Without precision and scale."""
    return str(type).replace("(38,9)", "")


def _acls(state: SystemState) -> Rows:
    snapshot = state.catalog

    def name(role_id: str) -> str:
        return "" if role_id == PUBLIC_ROLE_ID else snapshot.roles[role_id].name

    def shown(item: AclItem) -> str:
        return f"{name(item.grantee)}={item.privileges}/{name(item.grantor)}"

    for kind, word in _ON:
        for thing in snapshot.sorted(kind):
            owned: Owned = thing
            yield word, object_oid(thing.id), tuple(shown(item) for item in shown_acl(owned)) if thing.privileges else None


def _held(state: SystemState) -> Rows:
    """Every role with every privilege it has by itself, by its roles, by PUBLIC, or as an owner."""
    snapshot = state.catalog
    for role in snapshot.roles.values():
        for kind, word in _ON:
            for thing in snapshot.sorted(kind):
                for privilege in names(held(snapshot, role.id, identity(thing))):
                    yield object_oid(role.id), word, object_oid(thing.id), thing.name, privilege
        for mapping in snapshot.all(Kind.SYSTEM_OBJECT_MAPPING).values():
            yield object_oid(role.id), "relation", object_oid(mapping.id), mapping.object_name, "SELECT"


def _columns(state: SystemState) -> Rows:
    defaults = state.defaults()
    for id_, relation in state.descs.items():
        of = defaults.get(id_, {})
        for position, column in enumerate(relation.columns, 1):
            oid, modifier = column_type_oid(column), column_type_modifier(column)
            default = of.get(column.name)
            yield object_oid(id_), position, column.name, oid, modifier, not column.is_nullable, default
    for id_, facts in state.indexes.items():
        for position, column in enumerate((part.column for part in facts.key), 1):
            yield object_oid(id_), position, column.name, column_type_oid(column), column_type_modifier(column), False, None
    for id_, constraints in state.constraints().items():
        for constraint in constraints:
            if constraint.has_index:
                for position, constrained in enumerate(constraint.positions, 1):
                    column = state.descs[id_].columns[constrained - 1]
                    yield constraint.oid, position, column.name, column_type_oid(column), column_type_modifier(column), False, None


def _indexes(state: SystemState) -> Rows:
    for id_, facts in state.indexes.items():
        positions = tuple(0 if part.position is None else part.position + 1 for part in facts.key)
        expressions = ", ".join(part.sql for part in facts.key if part.position is None) or None
        key = ", ".join(part.sql for part in facts.key)
        options = (0,) * len(positions)
        is_view_default, traits = facts.is_view_default, (False, False, False, True)
        yield object_oid(id_), object_oid(facts.on_id), positions, options, key, expressions, is_view_default, *traits
    for id_, constraints in state.constraints().items():
        for constraint in constraints:
            if constraint.has_index:
                options = (0,) * len(constraint.positions)
                traits = (True, constraint.type == "p", constraint.are_nulls_equal, not constraint.is_deferrable)
                yield constraint.oid, object_oid(id_), constraint.positions, options, constraint.key, None, False, *traits


def _queries(state: SystemState) -> Rows:
    return ((object_oid(GlobalId(id_)), query) for id_, query in state.queries().items())


def _time_zones(state: SystemState) -> Rows:
    """What ``AT TIME ZONE`` takes, as it is now."""
    now = datetime.fromtimestamp(state.now() / 1000, UTC)
    for name in zones().values():
        local = now.astimezone(ZoneInfo(name))
        yield name, local.tzname(), int((local.utcoffset() or timedelta()).total_seconds()), bool(local.dst())


FOR_CLIENTS: tuple[Builtin, ...] = (
    Builtin(
        "mz_internal",
        "mz_types",
        desc(
            "oid",
            oid=OID,
            array_oid=OID,
            name=TEXT,
            sql_name=TEXT,
            size=SMALLINT,
            category=TEXT,
            element_oid=OID,
            input=REGPROC,
            output=REGPROC,
            receive=REGPROC,
            send=REGPROC,
        ),
        _types,
    ),
    Builtin(
        "mz_internal",
        "mz_type_functions",
        desc("oid", oid=OID, name=TEXT, argument_types=OIDVECTOR, result_type=OID),
        type_function_rows,
    ),
    Builtin(
        "mz_internal",
        "mz_time_zones",
        desc("name", name=TEXT, abbreviation=TEXT, utc_offset_s=INTEGER, is_dst=BOOLEAN),
        _time_zones,
    ),
    Builtin("mz_internal", "mz_acls", desc("kind", "oid", kind=TEXT, oid=OID, acl=array(TEXT)), _acls),
    Builtin("mz_internal", "mz_held_privileges", desc(role_oid=OID, kind=TEXT, oid=OID, name=TEXT, privilege=TEXT), _held),
    Builtin(
        "mz_internal",
        "mz_attributes",
        desc(
            "oid",
            "position",
            oid=OID,
            position=SMALLINT,
            name=TEXT,
            type_oid=OID,
            type_modifier=INTEGER,
            not_null=BOOLEAN,
            default_sql=TEXT,
        ),
        _columns,
    ),
    Builtin(
        "mz_internal",
        "mz_index_keys",
        desc(
            "oid",
            oid=OID,
            on_oid=OID,
            positions=array(SMALLINT),
            options=array(SMALLINT),
            key=TEXT,
            expressions=TEXT,
            is_view_default=BOOLEAN,
            is_unique=BOOLEAN,
            is_primary=BOOLEAN,
            are_nulls_equal=BOOLEAN,
            is_immediate=BOOLEAN,
        ),
        _indexes,
    ),
    Builtin("mz_internal", "mz_view_queries", desc("oid", oid=OID, query=TEXT), _queries),
    Builtin("mz_internal", "mz_settings", desc("name", name=TEXT, setting=TEXT, description=TEXT), lambda state: state.settings()),
    view(
        "mz_internal",
        "mz_relation_sizes",
        """SELECT o.oid, sum(u.size_bytes) FROM mz_catalog.mz_recent_storage_usage u
        JOIN mz_catalog.mz_objects o ON o.id = u.object_id GROUP BY o.oid""",
        ("oid",),
        oid=OID,
        size_bytes=BIGINT,
    ),
    view(
        "mz_internal",
        "mz_view_definitions",
        "SELECT oid, ' ' || query || ';' FROM mz_internal.mz_view_queries",
        ("oid",),
        oid=OID,
        definition=TEXT,
    ),
    view(
        "mz_internal",
        "mz_index_definitions",
        """SELECT k.oid, CASE WHEN k.is_unique THEN 'CREATE UNIQUE INDEX ' ELSE 'CREATE INDEX ' END || quote_ident(i.name)
        || ' ON ' || quote_ident(s.name) || '.' || quote_ident(t.name) || ' USING btree (' || k.key || ')'
        || CASE WHEN k.are_nulls_equal THEN ' NULLS NOT DISTINCT' ELSE '' END
        FROM mz_internal.mz_index_keys k JOIN mz_internal.mz_objects_and_keys i ON i.oid = k.oid
        JOIN mz_catalog.mz_objects t ON t.oid = k.on_oid JOIN mz_catalog.mz_schemas s ON s.id = t.schema_id""",
        ("oid",),
        oid=OID,
        indexdef=TEXT,
    ),
    # A relation is visible if its name alone means it. Those of mz_catalog and mz_internal are found too, but clients that list
    # what is visible want what users made.
    view(
        "mz_internal",
        "mz_visible_relations",
        """WITH here AS (SELECT s.id, s.name FROM mz_catalog.mz_schemas s
                      LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id
                      WHERE s.database_id IS NULL OR d.name = current_database())
        SELECT o.oid, v.oid IS NOT NULL,
        CASE WHEN v.oid IS NULL THEN quote_ident(s.name) || '.' ELSE '' END || quote_ident(o.name), s.name || '.' || o.name
        FROM mz_internal.mz_objects_and_keys o JOIN here s ON s.id = o.schema_id
        LEFT JOIN (SELECT DISTINCT ON (f.name) f.oid FROM mz_internal.mz_objects_and_keys f JOIN here m ON m.id = f.schema_id
                   WHERE m.name = ANY (current_schemas(TRUE) || 'mz_temp'::text) AND m.name NOT IN ('mz_catalog', 'mz_internal')
                   ORDER BY f.name, coalesce(2 * array_position(current_schemas(TRUE), m.name), 7), f.oid) v ON v.oid = o.oid""",
        ("oid",),
        oid=OID,
        is_visible=BOOLEAN,
        shown_name=TEXT,
        full_name=TEXT,
    ),
)

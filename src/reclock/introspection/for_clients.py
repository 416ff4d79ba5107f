"""Relations that the views of ``pg_catalog`` and ``information_schema`` read beside those of
``mz_catalog``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

from reclock.algebra.ids import GlobalId
from reclock.algebra.index_keys import COLLATION_OIDS, KeyOrder
from reclock.algebra.object_ids import (
    declared_type_modifier,
    declared_type_oid,
    object_oid,
    type_oid,
)
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    OID,
    OIDVECTOR,
    SMALLINT,
    TEXT,
    Column,
    ScalarType,
    TypeName,
    array,
)
from reclock.algebra.timestamps import as_datetime
from reclock.algebra.zones import zones
from reclock.catalog.acl import PUBLIC_ROLE_ID, AclItem, names
from reclock.catalog.kinds import Owned, identity
from reclock.catalog.objects import ItemType, Kind
from reclock.catalog.roles import held_privileges, is_superuser, memberships, owns, shown_acl
from reclock.introspection.relation import Builtin, CatalogState, Rows, SystemState, desc
from reclock.introspection.type_relations import TYPES
from reclock.introspection.views import views

_ON = (
    (Kind.ITEM, "relation"),
    (Kind.SCHEMA, "schema"),
    (Kind.DATABASE, "database"),
    (Kind.CLUSTER, "cluster"),
)


def _role_name(state: CatalogState, role_id: str, *, public: str) -> str:
    """The name of the role, or ``public`` for the id that stands for every role."""
    return public if role_id == PUBLIC_ROLE_ID else state.catalog.roles[role_id].name


def _acls(state: CatalogState) -> Rows:
    snapshot = state.catalog

    def name(role_id: str) -> str:
        return _role_name(state, role_id, public="")

    def format_item(item: AclItem) -> str:
        return f"{name(item.grantee)}={item.privileges}/{name(item.grantor)}"

    for kind, word in _ON:
        for catalog_object in snapshot.sorted(kind):
            owned: Owned = catalog_object
            yield (
                word,
                object_oid(catalog_object.id),
                tuple(format_item(item) for item in shown_acl(owned))
                if catalog_object.privileges
                else None,
            )


def _relation_grants(state: CatalogState) -> Rows:
    """Every privilege on a relation by itself, those that its owner has without a grant too."""
    for owned in state.catalog.sorted(Kind.ITEM):
        for item in shown_acl(owned):
            for privilege in names(item.privileges):
                yield (
                    object_oid(owned.id),
                    _role_name(state, item.grantor, public="PUBLIC"),
                    _role_name(state, item.grantee, public="PUBLIC"),
                    privilege,
                    item.grantee == owned.owner_role_id,
                )


def _role_privileges(state: CatalogState) -> Rows:
    """Every role with every privilege that it has directly, through its roles, through PUBLIC, or
    as an owner, which is ``OWNERSHIP`` besides; and with the roles that it is a member of, itself
    among them."""
    snapshot = state.catalog
    for role in snapshot.roles.values():
        is_super, roles = is_superuser(snapshot, role.id), memberships(snapshot, role.id)
        for privilege in names(held_privileges(snapshot, role.id, None)):
            yield object_oid(role.id), "system", 0, "system", privilege
        for kind, word in _ON:
            for catalog_object in snapshot.sorted(kind):
                privileges = names(held_privileges(snapshot, role.id, identity(catalog_object)))
                if is_super or owns(snapshot, roles, identity(catalog_object)):
                    privileges.append("OWNERSHIP")
                for privilege in privileges:
                    yield (
                        object_oid(role.id),
                        word,
                        object_oid(catalog_object.id),
                        catalog_object.name,
                        privilege,
                    )
        for id in sorted(snapshot.roles if is_super else roles):
            other = snapshot.roles[id]
            for privilege in ("MEMBER", "SET", "USAGE", *(("OWNERSHIP",) if is_super else ())):
                yield object_oid(role.id), "role", object_oid(id), other.name, privilege
        for mapping in snapshot.all(Kind.SYSTEM_OBJECT_MAPPING).values():
            yield (
                object_oid(role.id),
                "relation",
                object_oid(mapping.id),
                mapping.object_name,
                "SELECT",
            )


def _columns(state: CatalogState) -> Rows:
    defaults, generated = state.defaults(), state.generated()
    for id_, relation in state.descs.items():
        column_defaults = defaults.get(id_, {})
        for position, column in enumerate(relation.columns, 1):
            oid, modifier = declared_type_oid(column), declared_type_modifier(column)
            default = column_defaults.get(column.name)
            yield (
                object_oid(id_),
                position,
                column.name,
                oid,
                modifier,
                not column.is_nullable,
                default,
                generated.get(id_, {}).get(column.name, ""),
            )
    for composite in state.composites():
        for position, field in enumerate(composite.type.fields, 1):
            column = Column(field.name, field.type)
            oid, modifier = declared_type_oid(column), declared_type_modifier(column)
            yield object_oid(composite.id), position, field.name, oid, modifier, False, None, ""
    for id_, facts in state.indexes.items():
        parts = (*facts.key, *facts.included)
        for position, column in enumerate((part.column for part in parts), 1):
            yield _index_column(object_oid(id_), position, column)
    for id_, constraints in state.constraints().items():
        for constraint in constraints:
            positions = (*constraint.positions, *constraint.included)
            for position, constrained in enumerate(positions if constraint.has_index else (), 1):
                if constrained:  # no expression
                    column = state.descs[id_].columns[constrained - 1]
                    yield _index_column(constraint.oid, position, column)


def _index_column(oid: int, position: int, column: Column) -> tuple[object, ...]:
    type, modifier = declared_type_oid(column), declared_type_modifier(column)
    return oid, position, column.name, type, modifier, False, None, ""


def _indexes(state: CatalogState) -> Rows:
    for id_, facts in state.indexes.items():
        expressions = ", ".join(part.sql for part in facts.key if part.position is None) or None
        parts = (*facts.key, *facts.included)
        yield (
            object_oid(id_),
            object_oid(facts.on_id),
            tuple(0 if part.position is None else part.position + 1 for part in parts),
            *_orders([part.column for part in facts.key], [part.order for part in facts.key]),
            _elements([part.sql for part in facts.key], [part.order for part in facts.key]),
            tuple(part.sql for part in parts),
            expressions,
            facts.is_view_default,
            facts.is_unique,
            False,
            False,
            True,
            None,
            len(facts.key),
        )
    for id_, constraints in state.constraints().items():
        for constraint in constraints:
            if not constraint.has_index:
                continue
            columns = state.descs[id_].columns
            keyed = [columns[place - 1] if place else None for place in constraint.positions]
            yield (
                constraint.oid,
                object_oid(id_),
                (*constraint.positions, *constraint.included),
                *_orders(keyed, constraint.orders),
                _elements(constraint.parts, constraint.orders),
                (*constraint.parts, *constraint.included_names),
                constraint.expressions,
                False,
                True,
                constraint.type == "p",
                constraint.are_nulls_equal,
                not constraint.is_deferrable,
                constraint.predicate,
                len(constraint.positions),
            )


_TEXTS = (TypeName.TEXT, TypeName.BPCHAR)


def _orders(
    columns: Sequence[Column | None], orders: Sequence[KeyOrder]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """``indoption`` and ``indcollation`` of an index. A key without a column is an expression whose
    type is not known here: it is one of texts if it has a collation."""
    collations = tuple(
        COLLATION_OIDS[order.collation]
        if order.collation or (column is not None and column.type.base.name in _TEXTS)
        else 0
        for column, order in zip(columns, orders, strict=True)
    )
    return tuple(order.option for order in orders), collations


def _elements(keys: Sequence[str], orders: Sequence[KeyOrder]) -> str:
    return ", ".join(f"{key} {order.sql}".rstrip() for key, order in zip(keys, orders, strict=True))


def _sequences(state: SystemState) -> Rows:
    for facts in state.sequences():
        table, position = facts.owner or (None, None)
        yield (
            object_oid(facts.id),
            type_oid(facts.type),
            facts.start,
            facts.increment,
            facts.maximum,
            facts.minimum,
            facts.cache,
            facts.is_cyclic,
            object_oid(table) if table is not None else None,
            position,
            facts.is_identity,
            facts.last_value,
        )


def _functions(state: CatalogState) -> Rows:
    for facts in state.functions():
        item = state.catalog.items[facts.id]
        yield (
            object_oid(facts.id),
            item.schema_id,
            facts.name,
            object_oid(item.owner_role_id),
            len(facts.types),
            tuple(map(type_oid, facts.types)),
            facts.names if any(facts.names) else None,
            facts.arguments,
            facts.identity_arguments,
            type_oid(facts.result_type or ScalarType(TypeName.RECORD)),
            facts.result,
            facts.is_set,
            facts.is_strict,
            facts.volatility,
            facts.source,
            item.create_sql,
        )


_CLASSES = {
    Kind.ITEM: "pg_class",
    Kind.SCHEMA: "pg_namespace",
    Kind.DATABASE: "pg_database",
    Kind.ROLE: "pg_authid",
    Kind.CLUSTER: "mz_clusters",
}
_CLASSES_OF_ITEMS: dict[str, str] = {ItemType.FUNCTION: "pg_proc", ItemType.TYPE: "pg_type"}


def _comments(state: CatalogState) -> Rows:
    yield from _constraint_comments(state)
    for comment in state.catalog.all(Kind.COMMENT).values():
        kind, key = comment.target
        position, object_type = 0, kind.value
        if kind is Kind.ITEM:
            item = state.catalog.items[key]
            object_type = item.type.value.replace("_", "-")
            if comment.column:
                names = state.descs[item.id].names if item.id in state.descs else ()
                if comment.column not in names:
                    continue
                position = names.index(comment.column) + 1
        yield (
            str(key),
            object_type,
            position or None,
            comment.text,
            object_oid(key),
            _CLASSES_OF_ITEMS.get(object_type, _CLASSES[kind]),
        )


def _constraint_comments(state: CatalogState) -> Rows:
    """A unique index and the constraint that it is have one comment."""
    for table, constraints in state.constraints().items():
        for facts in constraints:
            if facts.comment is None:
                continue
            if facts.has_index:
                yield table, "index", None, facts.comment, facts.oid, "pg_class"
            if facts.type != "i":
                yield table, "constraint", None, facts.comment, facts.oid, "pg_constraint"
    for domain in state.domains():
        for check in domain.checks:
            if check.comment is not None:
                yield domain.id, "constraint", None, check.comment, check.oid, "pg_constraint"


def _queries(state: CatalogState) -> Rows:
    return ((object_oid(GlobalId(id_)), query) for id_, query in state.queries().items())


def _time_zones(state: SystemState) -> Rows:
    """The zones of ``AT TIME ZONE``, with their present offsets."""
    now = as_datetime(state.now())
    for name in zones().values():
        local = now.astimezone(ZoneInfo(name))
        yield (
            name,
            local.tzname(),
            int((local.utcoffset() or timedelta()).total_seconds()),
            bool(local.dst()),
        )


FOR_CLIENTS: tuple[Builtin, ...] = (
    *TYPES,
    Builtin(
        "mz_internal",
        "mz_time_zones",
        desc("name", name=TEXT, abbreviation=TEXT, utc_offset_s=INTEGER, is_dst=BOOLEAN),
        _time_zones,
    ),
    Builtin(
        "mz_internal",
        "mz_acls",
        desc("kind", "oid", kind=TEXT, oid=OID, acl=array(TEXT)),
        catalog_rows=_acls,
    ),
    Builtin(
        "mz_internal",
        "mz_relation_grants",
        desc(oid=OID, grantor=TEXT, grantee=TEXT, privilege=TEXT, is_owner=BOOLEAN),
        catalog_rows=_relation_grants,
    ),
    Builtin(
        "mz_internal",
        "mz_held_privileges",
        desc(role_oid=OID, kind=TEXT, oid=OID, name=TEXT, privilege=TEXT),
        catalog_rows=_role_privileges,
    ),
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
            generated=TEXT,
        ),
        catalog_rows=_columns,
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
            collations=array(OID),
            key=TEXT,
            parts=array(TEXT),
            expressions=TEXT,
            is_view_default=BOOLEAN,
            is_unique=BOOLEAN,
            is_primary=BOOLEAN,
            are_nulls_equal=BOOLEAN,
            is_immediate=BOOLEAN,
            predicate=TEXT,
            key_count=SMALLINT,
        ),
        catalog_rows=_indexes,
    ),
    Builtin(
        "mz_internal",
        "mz_object_comments",
        desc(
            id=TEXT, object_type=TEXT, object_sub_id=INTEGER, comment=TEXT, oid=OID, class_name=TEXT
        ),
        catalog_rows=_comments,
    ),
    *views("mz_internal", "mz_comments"),
    Builtin(
        "mz_internal",
        "mz_sequences",
        desc(
            "oid",
            oid=OID,
            type_oid=OID,
            start=BIGINT,
            increment=BIGINT,
            maximum=BIGINT,
            minimum=BIGINT,
            cache=BIGINT,
            is_cyclic=BOOLEAN,
            owner_oid=OID,
            owner_position=SMALLINT,
            is_identity=BOOLEAN,
            last_value=BIGINT,
        ),
        _sequences,
    ),
    Builtin(
        "mz_internal",
        "mz_functions",
        desc(
            "oid",
            oid=OID,
            schema_id=BIGINT,
            name=TEXT,
            owner_oid=OID,
            argument_count=SMALLINT,
            argument_types=OIDVECTOR,
            argument_names=array(TEXT),
            arguments=TEXT,
            identity_arguments=TEXT,
            result_type=OID,
            result=TEXT,
            is_set=BOOLEAN,
            is_strict=BOOLEAN,
            volatility=TEXT,
            source=TEXT,
            create_sql=TEXT,
        ),
        catalog_rows=_functions,
    ),
    Builtin(
        "mz_internal", "mz_view_queries", desc("oid", oid=OID, query=TEXT), catalog_rows=_queries
    ),
    Builtin(
        "mz_internal",
        "mz_settings",
        desc("name", name=TEXT, setting=TEXT, description=TEXT),
        lambda state: state.settings(),
    ),
    *views(
        "mz_internal",
        "mz_relation_sizes",
        "mz_view_definitions",
        "mz_index_definitions",
        "mz_visible_relations",
        "mz_type_names",
    ),
)

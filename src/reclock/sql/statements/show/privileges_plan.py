"""SHOW ROLES, SHOW PRIVILEGES, SHOW DEFAULT PRIVILEGES."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from reclock.algebra.relations import TEXT
from reclock.catalog.acl import PUBLIC_ROLE_ID, AclItem, names
from reclock.catalog.kinds import Owned
from reclock.catalog.objects import Database, Item, Kind, Schema
from reclock.catalog.roles import APPLICABLE, acl_of, memberships, owned, shown_acl, type_of
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.sql.catalog.lookups import snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.owned import role_name
from reclock.sql.planning.registry import plans
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.roles.plan import find_role
from reclock.sql.statements.show.plan import show_rows
from reclock.sql.statements.show.privileges_syntax import ShowPrivilegesStatement

Row = tuple[Any, ...]

_PRIVILEGES = dict.fromkeys(
    ("grantor", "grantee", "database", "schema", "name", "object_type", "privilege_type"), TEXT
)
_DEFAULTS = dict.fromkeys(
    ("object_owner", "database", "schema", "object_type", "grantee", "privilege_type"), TEXT
)


@plans(ShowPrivilegesStatement, returns_rows=True)
def show_privileges(
    node: ShowPrivilegesStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select:
    snapshot = snapshot_of(catalog)
    role = node.args.get("role")
    grantees = None
    if role is not None:
        grantees = memberships(snapshot, find_role(role, catalog, session).id) | {PUBLIC_ROLE_ID}
    kind: str | None = node.args.get("kind")
    if node.args.get("is_default"):
        return show_rows(
            _DEFAULTS,
            _default_rows(snapshot, kind, grantees),
            node,
            ordered_by=range(len(_DEFAULTS)),
        )
    return show_rows(
        _PRIVILEGES, _rows(snapshot, kind, grantees), node, ordered_by=(5, 2, 3, 4, 1, 6)
    )


def _rows(
    snapshot: CatalogSnapshot, kind: str | None, grantees: Collection[str] | None
) -> Iterator[Row]:
    for object in owned(snapshot):
        if kind in (None, _listed_as(object)):
            yield from _of(
                snapshot,
                shown_acl(object),
                grantees,
                *_place(snapshot, object),
                object.name,
                type_of(object),
            )
    if kind in (None, "SYSTEM"):
        yield from _of(snapshot, acl_of(snapshot, None), grantees, None, None, None, "system")


def _of(
    snapshot: CatalogSnapshot,
    acl: tuple[AclItem, ...],
    grantees: Collection[str] | None,
    *place: str | None,
) -> Iterator[Row]:
    for item in acl:
        if grantees is None or item.grantee in grantees:
            for privilege in names(item.privileges):
                yield (
                    role_name(snapshot, item.grantor),
                    role_name(snapshot, item.grantee),
                    *place,
                    privilege,
                )


def _default_rows(
    snapshot: CatalogSnapshot, kind: str | None, grantees: Collection[str] | None
) -> Iterator[Row]:
    for default in snapshot.sorted(Kind.DEFAULT_PRIVILEGE):
        if kind in (None, f"{default.object_type}S".upper()) and (
            grantees is None or default.grantee in grantees
        ):
            database = snapshot.databases.get(default.database_id)
            schema = snapshot.schemas.get(default.schema_id)
            for privilege in names(default.privileges):
                yield (
                    role_name(snapshot, default.role_id),
                    database.name if database is not None else None,
                    schema.name if schema is not None else None,
                    default.object_type,
                    role_name(snapshot, default.grantee),
                    privilege,
                )


def _listed_as(object: Owned) -> str:
    kind = type_of(object)
    return "TABLES" if "r" in APPLICABLE[kind] else f"{kind}S".upper()


def _place(snapshot: CatalogSnapshot, object: Owned) -> tuple[str | None, str | None]:
    match object:
        case Item():
            schema = snapshot.schemas[object.schema_id]
            return _place(snapshot, schema)[0], schema.name
        case Schema():
            return None if object.database_id is None else snapshot.databases[
                object.database_id
            ].name, None
        case Database() | _:
            return None, None

"""GRANT and REVOKE, default privileges, and ownership."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.catalog.acl import PUBLIC_ROLE_ID, Privilege, letters, names
from reclock.catalog.kinds import Owned, Reference
from reclock.catalog.objects import ItemType, Kind
from reclock.catalog.roles import APPLICABLE, Target, is_system, type_of
from reclock.errors import (
    DependentObjects,
    InvalidGrant,
    SqlSyntaxError,
    SystemObjectProtected,
    UnknownObject,
    UnsupportedSql,
    quoted_name,
)
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.lookups import (
    altered_kind,
    check_tables_named,
    dependents_closure,
    find_object,
    snapshot_of,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, nearest, parts
from reclock.sql.owned import described, name_of
from reclock.sql.planning.registry import plans, require_experimental_mode
from reclock.sql.statements.functions.signatures import object_parts
from reclock.sql.statements.objects.syntax import AlterOwnerStatement
from reclock.sql.statements.roles.plan import find_role, grantee_ids, role_ids
from reclock.sql.statements.roles.privileges_syntax import (
    DefaultPrivilegesStatement,
    DropOwnedStatement,
    PrivilegesStatement,
    ReassignOwnedStatement,
)
from reclock.sql.statements.tables.dropped_keys import Redefined, keys_dropped_with
from reclock.sql.syntax import nodes

_PLACES = {"SCHEMA": Kind.SCHEMA, "DATABASE": Kind.DATABASE, "CLUSTER": Kind.CLUSTER}
_PARTS = (ItemType.INDEX, ItemType.SOURCE_PROGRESS)
"""The parts of a relation, which have its owner."""

# --- GRANT, REVOKE ---


@plans(PrivilegesStatement)
def change_privileges(
    node: PrivilegesStatement, catalog: PlannerCatalog, session: SessionNames
) -> ChangePrivileges:
    privileges = _letters(node)
    targets = dict.fromkeys(_targets(node, catalog, session))
    changes = tuple((target, _applicable(target, privileges, catalog)) for target in targets)
    return ChangePrivileges(
        node.args["verb"] == "GRANT", changes, grantee_ids(node.args["grantees"], catalog, session)
    )


def _letters(node: nodes.Statement) -> str | None:
    """The letters of the privileges; None means ALL."""
    privileges = node.args.get("privileges")
    return (
        letters(Privilege[privilege.name].value for privilege in privileges) if privileges else None
    )


def _targets(
    node: PrivilegesStatement, catalog: PlannerCatalog, session: SessionNames
) -> Iterator[Target]:
    kind: str = node.args["kind"]
    if kind == "SYSTEM":
        yield None
    elif kind == "TABLE":
        for table in node.args["names"]:
            relation = catalog.resolve(parts(table), session)
            if relation.is_system:
                raise SystemObjectProtected(str(relation.name))
            yield Kind.ITEM, relation.id
    elif kind in ("SECRET", "CONNECTION", "SEQUENCE", "FUNCTION"):
        yield from (
            (Kind.ITEM, find_object(object_parts(name), kind, catalog, session).id)
            for name in node.args["names"]
        )
    elif kind == "ALL TABLES IN SCHEMA":
        for table in node.args["names"]:
            _, schema_id = place("SCHEMA", table, catalog, session)
            items = sorted(snapshot_of(catalog).items.values(), key=lambda item: int(item.id[1:]))
            yield from (
                (Kind.ITEM, item.id)
                for item in items
                if item.schema_id == schema_id and "r" in APPLICABLE[item.type]
            )
    else:
        for name in node.args["names"]:
            yield place(kind, name, catalog, session)


def place(kind: str, name: exp.Expr, catalog: PlannerCatalog, session: SessionNames) -> Reference:
    """The schema, database or cluster of that name. Raises ``UnknownObject``,
    ``SystemObjectProtected``."""
    snapshot = snapshot_of(catalog)
    object: Owned | None
    if kind == "CLUSTER":
        return Kind.CLUSTER, catalog.cluster_id(fold(name))
    assert isinstance(name, exp.Table)
    written = parts(name)
    if len(written) > (2 if kind == "SCHEMA" else 1):
        raise SqlSyntaxError(
            f"the name of a {kind.lower()} has at most "
            f"{'two parts' if kind == 'SCHEMA' else 'one part'}"
        )
    if kind == "DATABASE":
        object = snapshot.database_by_name(written[0])
        if object is None:
            raise UnknownObject("database", written[0], hint=nearest(written[0], catalog.databases))
        return Kind.DATABASE, object.id
    database_name, schema_name = catalog.scope(written, session)
    database = snapshot.database_by_name(database_name) if database_name is not None else None
    object = snapshot.schema_by_name(database.id if database is not None else None, schema_name)
    if object is None or is_system(object):
        raise SystemObjectProtected(schema_name)
    return Kind.SCHEMA, object.id


def _applicable(target: Target, privileges: str | None, catalog: PlannerCatalog) -> str:
    snapshot = snapshot_of(catalog)
    object: Owned | None = snapshot.get(*target) if target is not None else None
    type_ = type_of(object) if object is not None else "system"
    return _checked(privileges, type_, described(snapshot, target))


def _checked(privileges: str | None, type_: str, target: str) -> str:
    """The privileges. Raises ``InvalidGrant`` for one that ``target`` does not have."""
    applicable = APPLICABLE[type_]
    wrong = "".join(letter for letter in privileges or "" if letter not in applicable)
    if wrong:
        hint = f"its privileges are {', '.join(names(applicable))}" if applicable else None
        raise InvalidGrant(f"invalid privilege type {names(wrong)[0]} for {target}", hint=hint)
    return applicable if privileges is None else privileges


# --- default privileges ---


@plans(DefaultPrivilegesStatement)
def change_default_privileges(
    node: DefaultPrivilegesStatement, catalog: PlannerCatalog, session: SessionNames
) -> ChangeDefaultPrivileges:
    kind: str = node.args["kind"]
    within: str | None = node.args.get("within")
    if (within is not None and kind in ("DATABASE", "CLUSTER")) or within == kind == "SCHEMA":
        raise InvalidGrant(f"cannot use IN {within} with privileges on {kind.lower()}s")
    if node.args.get("is_for_all"):
        owners: tuple[str, ...] = (PUBLIC_ROLE_ID,)
    elif node.args.get("owners"):
        owners = role_ids(node.args["owners"], catalog, session)
    else:
        owners = (find_role(exp.to_identifier("current_user"), catalog, session).id,)
    return ChangeDefaultPrivileges(
        node.args["verb"] == "GRANT",
        owners,
        tuple(_default_places(within, node.args.get("names") or (), catalog, session)),
        kind.lower(),
        _checked(_letters(node), kind.lower(), f"{kind}S"),
        grantee_ids(node.args["grantees"], catalog, session),
    )


def _default_places(
    within: str | None, names: Sequence[exp.Expr], catalog: PlannerCatalog, session: SessionNames
) -> Iterator[tuple[int | None, int | None]]:
    if within is None:
        yield None, None
    for name in names:
        kind, id = place(within or "", name, catalog, session)
        yield (
            (snapshot_of(catalog).schemas[id].database_id, id)
            if kind is Kind.SCHEMA
            else (id, None)
        )


# --- ownership ---


@plans(AlterOwnerStatement)
def change_owner(
    node: AlterOwnerStatement, catalog: PlannerCatalog, session: SessionNames
) -> ChangeOwner:
    kind: str = node.args["kind"]
    if kind == "CLUSTER":
        require_experimental_mode("ALTER CLUSTER", catalog)
    to = find_role(node.args["to"], catalog, session)
    if kind in _PLACES:
        return ChangeOwner(place(kind, node.this, catalog, session), (), to.id, kind.lower())
    name = object_parts(node.this)
    entry = find_object(name, altered_kind(name, kind, catalog, session), catalog, session)
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    if isinstance(entry, IndexEntry):
        on = catalog.relation(entry.on).name
        raise UnsupportedSql(
            f"cannot change the owner of index {quoted_name(entry.name)}",
            hint=f"change the owner of {quoted_name(on)} instead",
        )
    owned_parts = tuple(
        (Kind.ITEM, part.id) for part in catalog.dependents(entry.id) if part.type in _PARTS
    )
    return ChangeOwner((Kind.ITEM, entry.id), owned_parts, to.id, kind.lower())


@plans(ReassignOwnedStatement)
def reassign_owned(
    node: ReassignOwnedStatement, catalog: PlannerCatalog, session: SessionNames
) -> ReassignOwned:
    roles = role_ids(node.args["roles"], catalog, session)
    _refuse_system(roles)
    return ReassignOwned(roles, find_role(node.args["to"], catalog, session).id)


@plans(DropOwnedStatement)
def drop_owned(
    node: DropOwnedStatement, catalog: PlannerCatalog, session: SessionNames
) -> DropOwned:
    """Plan DROP OWNED. Items are dropped; schemas, databases and clusters stay, with a notice."""
    snapshot = snapshot_of(catalog)
    roles = role_ids(node.args["roles"], catalog, session)
    _refuse_system(roles)
    targets = [
        item.id
        for item in snapshot.items.values()
        if item.owner_role_id in roles and item.type not in _PARTS
    ]
    ids, dependents = dependents_closure(targets, catalog)
    foreign_keys, redefined = keys_dropped_with(ids, catalog)
    dependents += foreign_keys
    if dependents and node.args.get("behavior") != "CASCADE":
        raise DependentObjects(
            "objects of", ", ".join(snapshot.roles[id].name for id in roles), dependents
        )
    check_tables_named(ids, targets, catalog)
    notices = (
        f"{type_of(thing)} {name_of(snapshot, thing)} is kept"
        for kind in _PLACES.values()
        for thing in snapshot.sorted(kind)
        if thing.owner_role_id in roles
    )
    return DropOwned(roles, ids, tuple(notices), redefined)


def _refuse_system(roles: Sequence[str]) -> None:
    for id in roles:
        if id.startswith("s"):
            raise SystemObjectProtected("mz_system")


@dataclass(frozen=True, slots=True)
class ChangePrivileges:
    """``privileges`` are letters for each target. ``grantees`` are roles' ids or
    ``PUBLIC_ROLE_ID``."""

    is_grant: bool
    privileges: tuple[tuple[Target, str], ...]
    grantees: tuple[str, ...]

    @property
    def tag(self) -> str:
        return "GRANT" if self.is_grant else "REVOKE"


@dataclass(frozen=True, slots=True)
class ChangeDefaultPrivileges:
    """Of objects of ``object_type`` that ``owners`` (or all, ``PUBLIC_ROLE_ID``) make later, in
    each of ``places``: database and schema, None being any."""

    is_grant: bool
    owners: tuple[str, ...]
    places: tuple[tuple[int | None, int | None], ...]
    object_type: str
    privileges: str
    grantees: tuple[str, ...]
    tag: str = "ALTER DEFAULT PRIVILEGES"


@dataclass(frozen=True, slots=True)
class ChangeOwner:
    """``target`` is the named object. Its ``parts``, indexes and a progress relation, get the same
    owner."""

    target: Reference
    parts: tuple[Reference, ...]
    to: str
    kind: str

    @property
    def tag(self) -> str:
        return f"ALTER {self.kind.upper()}"


@dataclass(frozen=True, slots=True)
class ReassignOwned:
    role_ids: tuple[str, ...]
    to: str
    tag: str = "REASSIGN OWNED"


@dataclass(frozen=True, slots=True)
class DropOwned:
    """``ids`` are the dropped items, dependents first. The roles' privileges are revoked too."""

    role_ids: tuple[str, ...]
    ids: tuple[GlobalId, ...]
    notices: tuple[str, ...] = ()
    redefined: Redefined = ()
    tag: str = "DROP OWNED"

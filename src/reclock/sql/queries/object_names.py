"""The objects that ``'name'::regclass`` and similar casts mean."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.object_ids import (
    PSEUDO_TYPES,
    TEXTS,
    constraint_oid,
    declared_type_oid,
    object_oid,
    type_rows,
)
from reclock.algebra.relations import Column, ScalarType, TypeName
from reclock.catalog.objects import Kind
from reclock.errors import InvalidOption, ReclockError, UnknownObject, UnknownRelation
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, nearest
from reclock.sql.queries.call_forms import name_parts
from reclock.sql.queries.type_names import scalar_type
from reclock.sql.syntax.parse import parse_one

_ARRAY_INPUT = 750
"""PostgreSQL's object id of ``array_in``, the only function that clients look up by name."""


_PSEUDO_TYPES = PSEUDO_TYPES | {
    str(row.type): row.oid for row in type_rows() if row.type.is_of_records
}


def named_object(
    text: str,
    target: ScalarType,
    catalog: PlannerCatalog,
    session: SessionNames,
    kind: str = "database",
    *,
    is_text: bool = False,
) -> int:
    """The object id that ``text``, a number or a name, means: as an ``oid``, that of an object of
    ``kind``. As in PostgreSQL, the name of a relation is no number if it is of type text. Raises
    ``UnknownObject``, ``UnknownRelation``."""
    may_be_number = not (is_text and target.name is TypeName.REGCLASS)
    if may_be_number and text.strip().isdigit():
        return int(text)
    if may_be_number and text.strip() == "-":
        return 0
    if target.name is TypeName.REGTYPE:
        name = text.strip().removeprefix("pg_catalog.")
        return (
            _PSEUDO_TYPES[name]
            if name in _PSEUDO_TYPES
            else TEXTS[name][0]
            if name in TEXTS
            else declared_type_oid(Column(name, _type(text)))
        )
    if target.name is TypeName.OID and kind == "cluster":
        return object_oid(catalog.cluster_id(text))
    if target.name is TypeName.OID and kind in ("connection", "secret"):
        return object_oid(find_object(tuple(_parts(text)), kind.upper(), catalog, session).id)
    if target.name is TypeName.OID and catalog.snapshot is not None:
        database = catalog.snapshot.by_name(Kind.DATABASE, text)
        if database is None:
            raise UnknownObject("database", text, hint=nearest(text, catalog.databases))
        return object_oid(database.id)
    parts = _parts(text)
    match target.name:
        case TypeName.REGCLASS:
            entry = catalog.find(parts, session)
            if entry is not None:
                return object_oid(entry.id)
            key = catalog.find_key(parts, session)
            if key is None:
                raise UnknownRelation(text)
            table, place = key
            return constraint_oid(table.id, place)
        case TypeName.REGNAMESPACE if catalog.snapshot is not None:
            database = catalog.snapshot.database_by_name(session.database)
            places = (None, database.id if database is not None else None)
            schemas = (catalog.snapshot.schema_by_name(place, parts[-1]) for place in places)
            object_id: str | int | None = next((schema.id for schema in schemas if schema), None)
        case TypeName.REGROLE if catalog.snapshot is not None:
            role = catalog.snapshot.role_by_name(parts[-1])
            object_id = role.id if role is not None else None
        case TypeName.REGPROC if parts[-1] == "array_in":
            return _ARRAY_INPUT
        case _:
            object_id = None
    if object_id is None:
        raise UnknownObject(_KINDS.get(target.name, "object"), text)
    return object_oid(object_id)


_KINDS = {TypeName.REGNAMESPACE: "schema", TypeName.REGROLE: "role", TypeName.REGPROC: "function"}


def _type(text: str) -> ScalarType:
    try:
        query = parse_one(f"SELECT NULL::{text}")
        [cast] = query.this.expressions
        return scalar_type(cast.args["to"])
    except (ReclockError, ValueError, KeyError):
        raise UnknownObject("type", text) from None


def _parts(text: str) -> Sequence[str]:
    try:
        parts = name_parts(text)
    except InvalidOption:
        raise UnknownRelation(text) from None
    if len(parts) > 3:
        raise UnknownRelation(text)
    return parts

"""Relations of data types that the views of ``pg_catalog`` and ``information_schema`` read."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import (
    FIRST_USER,
    TEXTS,
    TypeId,
    column_type_oid,
    defined_type_rows,
    object_oid,
    type_oid,
    type_rows,
)
from reclock.algebra.relations import (
    OID,
    OIDVECTOR,
    REAL,
    REGPROC,
    SMALLINT,
    TEXT,
    ScalarType,
    enum,
)
from reclock.catalog.initial import SYSTEM_ROLE_ID
from reclock.introspection.relation import Builtin, CatalogState, Rows, desc
from reclock.introspection.type_functions import (
    COMPOSITE,
    DOMAIN,
    ENUM,
    TypeFunctions,
    functions_of,
    type_function_rows,
)


def _types(state: CatalogState) -> Rows:
    by_oid = {row[0]: row for row in _value_types(state)}
    yield from by_oid.values()
    for facts in state.domains():
        *_, size, category, _, _, output, _, send, _, _ = by_oid[column_type_oid(facts.base)]
        shown = (facts.name.qualified[-1], facts.name.name, size, category)
        functions = (DOMAIN.input, output, DOMAIN.receive, send)
        yield (object_oid(facts.id), 0, *shown, 0, *functions, *_place(state, facts.id))


def _value_types(state: CatalogState) -> Rows:
    """The types that are no domains."""
    built_in = _namespace_oid(state), object_oid(SYSTEM_ROLE_ID)
    for row in type_rows():
        yield (*_type_row(row, functions_of(row.name)), *built_in)
    for name, (oid, array_oid, sql_name, size, category) in TEXTS.items():
        functions = astuple(functions_of(name))
        yield oid, array_oid, name, sql_name, size, category, 0, *functions, *built_in
        functions = astuple(functions_of(f"_{name}"))
        yield array_oid, 0, f"_{name}", f"{sql_name}[]", -1, "A", oid, *functions, *built_in
    defined = [
        *((type.id, enum(type), ENUM[1]) for type in state.enums()),
        *((facts.id, facts.type, COMPOSITE) for facts in state.composites()),
    ]
    for id, type, own_functions in defined:
        place, (own, of_arrays) = _place(state, id), defined_type_rows(type)
        yield (*_type_row(own, own_functions), *place)
        yield (*_type_row(of_arrays, functions_of(of_arrays.name)), *place)


def _place(state: CatalogState, id: str) -> tuple[int, int]:
    """The schema and the owner of a type that a user defined."""
    item = state.catalog.items[GlobalId(id)]
    return object_oid(item.schema_id), object_oid(item.owner_role_id)


def _namespace_oid(state: CatalogState) -> int:
    schema = state.catalog.schema_by_name(None, "pg_catalog")
    return 0 if schema is None else object_oid(schema.id)


def _type_row(row: TypeId, functions: TypeFunctions) -> tuple[Any, ...]:
    element = row.type.element if row.type.is_array else None
    element_oid = 0 if element is None else type_oid(element.base)
    shown = (row.name, _sql_name(row.type), row.size, row.category, element_oid)
    return row.oid, row.array_oid, *shown, *astuple(functions)


def _enums(state: CatalogState) -> Rows:
    oid = FIRST_USER
    for type in state.enums():
        for place, label in enumerate(type.labels, 1):
            yield oid, object_oid(type.id), float(place), label
            oid += 1


def _sql_name(type: ScalarType) -> str:
    """The type's name in SQL, without precision, scale and length."""
    return str(type.unconstrained)


TYPES: tuple[Builtin, ...] = (
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
            namespace_oid=OID,
            owner_oid=OID,
        ),
        catalog_rows=_types,
    ),
    Builtin(
        "mz_internal",
        "mz_enums",
        desc("oid", oid=OID, type_oid=OID, position=REAL, label=TEXT),
        catalog_rows=_enums,
    ),
    Builtin(
        "mz_internal",
        "mz_type_functions",
        desc("oid", oid=OID, name=TEXT, argument_types=OIDVECTOR, result_type=OID),
        catalog_rows=type_function_rows,
    ),
)

"""Object ids: the numbers that PostgreSQL's clients know types and objects by.

Those of types are PostgreSQL's own. Those of objects follow from the ids of the catalog, so they
never change and no two objects of one kind share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT2VECTOR,
    INTEGER,
    INTERVAL,
    OID,
    OIDVECTOR,
    REAL,
    REGCLASS,
    REGNAMESPACE,
    REGPROC,
    REGROLE,
    REGTYPE,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    MomentLimit,
    ScalarType,
    TypeName,
    array,
    numeric,
)
from reclock.algebra.textual import TEXTUAL_TYPES

FIRST_SYSTEM = 10_000
FIRST_USER = 16_384
"""Where PostgreSQL begins to count what it makes itself, and what users make."""
FIRST_ARRAY_TYPE = 1 << 29
"""Where the numbers begin of arrays of the types that users make."""
FIRST_TRANSIENT = 1 << 30
"""Where the numbers begin of what sessions make for themselves."""
FIRST_CONSTRAINT = 1 << 31
FIRST_TRANSIENT_CONSTRAINT = 3 << 30
"""Where the numbers of constraints begin: those of tables, and those of temporary tables."""
_CONSTRAINT_BITS, _TABLE_BITS = 10, 20


@dataclass(frozen=True, slots=True)
class TypeId:
    """A type as ``pg_type`` has it: its number, that of its arrays, PostgreSQL's short name, bytes
    (-1: it varies), category."""

    oid: int
    array_oid: int
    name: str
    size: int
    category: str
    type: ScalarType


_TYPES = (
    TypeId(16, 1000, "bool", 1, "B", BOOLEAN),
    TypeId(17, 1001, "bytea", -1, "U", BYTEA),
    TypeId(20, 1016, "int8", 8, "N", BIGINT),
    TypeId(21, 1005, "int2", 2, "N", SMALLINT),
    TypeId(23, 1007, "int4", 4, "N", INTEGER),
    TypeId(24, 1008, "regproc", 4, "N", REGPROC),
    TypeId(25, 1009, "text", -1, "S", TEXT),
    TypeId(26, 1028, "oid", 4, "N", OID),
    TypeId(700, 1021, "float4", 4, "N", REAL),
    TypeId(701, 1022, "float8", 8, "N", DOUBLE),
    TypeId(1082, 1182, "date", 4, "D", DATE),
    TypeId(1114, 1115, "timestamp", 8, "D", TIMESTAMP),
    TypeId(1184, 1185, "timestamptz", 8, "D", TIMESTAMPTZ),
    TypeId(1186, 1187, "interval", 16, "T", INTERVAL),
    TypeId(1700, 1231, "numeric", -1, "N", numeric()),
    TypeId(2205, 2210, "regclass", 4, "N", REGCLASS),
    TypeId(16380, 16381, "list", -1, "U", ScalarType(TypeName.LIST)),
    TypeId(16382, 16383, "map", -1, "U", ScalarType(TypeName.MAP)),
    TypeId(2249, 2287, "record", -1, "P", ScalarType(TypeName.RECORD)),
    TypeId(2206, 2211, "regtype", 4, "N", REGTYPE),
    TypeId(4089, 4090, "regnamespace", 4, "N", REGNAMESPACE),
    TypeId(4096, 4097, "regrole", 4, "N", REGROLE),
    *(
        TypeId(t.oid, t.array_oid, t.short_name, t.size, t.category, t.type)
        for t in TEXTUAL_TYPES.values()
    ),
)
TYPES: Mapping[TypeName, TypeId] = {type_id.type.name: type_id for type_id in _TYPES}


_VECTORS = {
    INT2VECTOR: TypeId(22, 1006, "int2vector", -1, "A", INT2VECTOR),
    OIDVECTOR: TypeId(30, 1013, "oidvector", -1, "A", OIDVECTOR),
}

TEXTS = {
    "char": (18, 1002, '"char"', 1, "Z"),
    "name": (19, 1003, "name", 64, "S"),
    "varchar": (1043, 1015, "character varying", -1, "S"),
}
"""Types that are text here, by the names that clients look for: number, that of arrays, name in
SQL, bytes, category."""

PSEUDO_TYPES = {
    "cstring": 2275,
    "void": 2278,
    "trigger": 2279,
    "internal": 2281,
    "event_trigger": 3838,
}
"""Types that no value has, which clients name to pass over functions of them."""


_ENUM_SIZE = 4
"""The bytes of an enum in PostgreSQL."""


def type_oid(type: ScalarType) -> int:
    defined = type.base.enum or type.base.composite
    if defined is not None:
        oid = object_oid(defined.id)
        return FIRST_ARRAY_TYPE + oid if type.is_array else oid
    if type in _VECTORS:
        return _VECTORS[type].oid
    if type.base in _VECTORS:
        return _VECTORS[type.base].array_oid
    return TYPES[type.base.name].array_oid if type.is_array else TYPES[type.name].oid


def type_size(type: ScalarType) -> int:
    if type.enum is not None:
        return _ENUM_SIZE
    return -1 if type.element is not None else TYPES[type.name].size


def type_modifier(type: ScalarType) -> int:
    """Precision and scale in one number, or the length and four; -1 for none."""
    base = type.base
    if base.length is not None:
        return -1 if base.is_unconstrained else base.length + 4
    return (
        -1
        if base.precision is None or base.is_unconstrained
        else (base.precision << 16 | (base.scale or 0)) + 4
    )


def column_type_oid(column: Column) -> int:
    """That of the type, or of ``varchar``, ``name`` or ``"char"`` where the column has a length."""
    if column.limit is None or isinstance(column.limit, MomentLimit):
        return type_oid(column.type)
    oid, array_oid, *_ = TEXTS[column.limit.type_name]
    return array_oid if column.type.dimensions else oid


def column_type_modifier(column: Column) -> int:
    """As ``type_modifier``; of a column with a length, that and four."""
    if column.limit is None or column.limit.is_name or column.limit.is_letter:
        return type_modifier(column.type)
    if isinstance(column.limit, MomentLimit):
        return column.limit.digits
    return column.limit.characters + 4


def declared_type_oid(column: Column) -> int:
    """As ``column_type_oid``, but of a domain its own number."""
    domain = column.type.domain
    return column_type_oid(column) if domain is None else object_oid(domain.id)


def declared_type_modifier(column: Column) -> int:
    """As ``column_type_modifier``, which a column of a domain has none of."""
    return column_type_modifier(column) if column.type.domain is None else -1


def type_rows() -> Iterator[TypeId]:
    """Every type, those of arrays included, by number."""
    arrays = (
        TypeId(
            entry.array_oid,
            0,
            f"_{entry.name}",
            -1,
            "P" if entry.category == "P" else "A",
            ScalarType(TypeName.ARRAY, element=entry.type),
        )
        for entry in [*_TYPES, *_VECTORS.values()]
    )
    return iter(sorted([*_TYPES, *_VECTORS.values(), *arrays], key=lambda entry: entry.oid))


def defined_type_rows(type: ScalarType) -> tuple[TypeId, TypeId]:
    """An enum or a composite type as ``type_rows`` has a type, and its arrays. Their names have no
    schema."""
    defined = type.enum or type.composite
    assert defined is not None
    name, category = defined.qualified[-1], "C" if type.enum is None else "E"
    oid, array_oid = type_oid(type), type_oid(array(type))
    return (
        TypeId(oid, array_oid, name, type_size(type), category, type),
        TypeId(array_oid, 0, f"_{name}", -1, "A", array(type)),
    )


def object_oid(id: str | int) -> int:
    """Of an item or a role (``s1``, ``u1``, ``t1``), a schema or a database (a number)."""
    if isinstance(id, int):
        return FIRST_USER + id
    return {"s": FIRST_SYSTEM, "u": FIRST_USER, "t": FIRST_TRANSIENT}[id[0]] + int(id[1:])


def constraint_oid(table: str, place: int) -> int:
    """Of the constraint at this place (from 0) of a table's definition, and of the index that
    PostgreSQL would have for it.

    No two share one among the first million tables and their first thousand constraints.
    """
    first = FIRST_TRANSIENT_CONSTRAINT if table[0] == "t" else FIRST_CONSTRAINT
    number, place = int(table[1:]) % (1 << _TABLE_BITS), place % (1 << _CONSTRAINT_BITS)
    return first + (number << _CONSTRAINT_BITS) + place

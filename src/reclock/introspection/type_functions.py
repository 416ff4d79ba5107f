"""The input and output functions of types, by which clients tell which types have a binary format.

They cannot be called. Their numbers are PostgreSQL's own (``pg_proc.dat``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace

from reclock.algebra.object_ids import PSEUDO_TYPES, TEXTS, type_rows
from reclock.algebra.relations import BPCHAR, RANGES, TypeName
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.introspection.relation import CatalogState, Rows

_BYTEA_OID = 17
_ANYARRAY_OID, _ANYENUM_OID, _ANYRANGE_OID = 2277, 3500, 3831


@dataclass(frozen=True, slots=True)
class TypeFunctions:
    """Their object ids: text to value and back, binary to value and back."""

    input: int
    output: int
    receive: int
    send: int


_ARRAY = "array_", TypeFunctions(750, 751, 2400, 2401)
_RANGE = "range_", TypeFunctions(*TEXTUAL_TYPES[TypeName.INT4RANGE].functions)
DOMAIN = TypeFunctions(2597, 0, 2598, 0)
"""Domains have the output functions of their base types."""
COMPOSITE = TypeFunctions(2290, 2291, 2402, 2403)
"""Composite types have the functions of records."""
ENUM = "enum_", TypeFunctions(3506, 3507, 3532, 3533)
_FUNCTIONS: Mapping[str, tuple[str, TypeFunctions]] = {
    "bool": ("bool", TypeFunctions(1242, 1243, 2436, 2437)),
    "bytea": ("bytea", TypeFunctions(1244, 31, 2412, 2413)),
    "char": ("char", TypeFunctions(1245, 33, 2434, 2435)),
    "name": ("name", TypeFunctions(34, 35, 2422, 2423)),
    "int8": ("int8", TypeFunctions(460, 461, 2408, 2409)),
    "int2": ("int2", TypeFunctions(38, 39, 2404, 2405)),
    "int2vector": ("int2vector", TypeFunctions(40, 41, 2410, 2411)),
    "int4": ("int4", TypeFunctions(42, 43, 2406, 2407)),
    "regproc": ("regproc", TypeFunctions(44, 45, 2444, 2445)),
    "text": ("text", TypeFunctions(46, 47, 2414, 2415)),
    "oid": ("oid", TypeFunctions(1798, 1799, 2418, 2419)),
    "oidvector": ("oidvector", TypeFunctions(54, 55, 2420, 2421)),
    "float4": ("float4", TypeFunctions(200, 201, 2424, 2425)),
    "float8": ("float8", TypeFunctions(214, 215, 2426, 2427)),
    "bpchar": ("bpchar", TypeFunctions(1044, 1045, 2430, 2431)),
    "varchar": ("varchar", TypeFunctions(1046, 1047, 2432, 2433)),
    "date": ("date_", TypeFunctions(1084, 1085, 2468, 2469)),
    "timestamp": ("timestamp_", TypeFunctions(1312, 1313, 2474, 2475)),
    "timestamptz": ("timestamptz_", TypeFunctions(1150, 1151, 2476, 2477)),
    "interval": ("interval_", TypeFunctions(1160, 1161, 2478, 2479)),
    "numeric": ("numeric_", TypeFunctions(1701, 1702, 2460, 2461)),
    "record": ("record_", TypeFunctions(2290, 2291, 2402, 2403)),
    "list": ("list_", TypeFunctions(9980, 9981, 0, 0)),
    "map": ("map_", TypeFunctions(9982, 9983, 0, 0)),
    "regclass": ("regclass", TypeFunctions(2218, 2219, 2452, 2453)),
    "regtype": ("regtype", TypeFunctions(2220, 2221, 2454, 2455)),
    "regrole": ("regrole", TypeFunctions(4098, 4092, 4094, 4095)),
    "regnamespace": ("regnamespace", TypeFunctions(4084, 4085, 4087, 4088)),
    **{
        textual.short_name: (f"{textual.short_name}_", TypeFunctions(*textual.functions))
        for textual in TEXTUAL_TYPES.values()
        if not textual.type.is_range and textual.type != BPCHAR
    },
}
"""By the type's short name: what the functions' names begin with, and the functions. Arrays share
theirs, and so do ranges and enums. Lists and maps, Materialize's types, have no binary format."""


def functions_of(type_name: str) -> TypeFunctions:
    """The functions of the type that has this name in ``pg_type``."""
    if type_name in RANGES:
        return _RANGE[1]
    if not type_name.startswith("_"):
        return _FUNCTIONS[type_name][1]
    element = _FUNCTIONS.get(type_name[1:])
    has_binary = element is None or element[1].receive != 0
    return _ARRAY[1] if has_binary else replace(_ARRAY[1], receive=0, send=0)


def type_function_rows(state: CatalogState) -> Rows:
    """Of each function its object id, its name, and the types of its arguments and result."""
    internal, cstring = PSEUDO_TYPES["internal"], PSEUDO_TYPES["cstring"]
    type_oids = {type_row.name: type_row.oid for type_row in type_rows()} | {
        name: oid for name, (oid, *_) in TEXTS.items()
    }
    functions_by_oid = [
        (*_FUNCTIONS[name], oid) for name, oid in type_oids.items() if name in _FUNCTIONS
    ]
    shared = (*_ARRAY, _ANYARRAY_OID), (*_RANGE, _ANYRANGE_OID), (*ENUM, _ANYENUM_OID)
    for prefix, functions, oid in [*functions_by_oid, *shared]:
        signatures = (
            ("in", cstring, oid),
            ("out", oid, cstring),
            ("recv", internal, oid),
            ("send", oid, _BYTEA_OID),
        )
        for function_oid, (suffix, argument, answer) in zip(
            astuple(functions), signatures, strict=True
        ):
            if function_oid:
                yield function_oid, f"{prefix}{suffix}", (argument,), answer

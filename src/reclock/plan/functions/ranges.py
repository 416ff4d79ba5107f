"""Ranges. A value is the text of a range in normal form, so that equal ranges are equal texts.

Functions that compare bounds are Python functions that both engines call (`json_calls`).
"""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.range_texts import NULL_FLAGS
from reclock.algebra.relations import BOOLEAN, TEXT, ScalarType, numeric
from reclock.algebra.textual.ranges import RANGE_TYPES
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import string
from reclock.plan.functions.typing import is_implicit

Signature = tuple[tuple[ScalarType, ...], ScalarType]


def _bound_type(type: ScalarType, argument: ScalarType | None) -> ScalarType | None:
    """The type of a bound or an element of a range, given as a value of type ``argument``; None if it
    cannot be one. A numeric keeps its digits."""
    bound = RANGE_TYPES[type.name].bound
    if argument is None or not is_implicit(argument, bound):
        return bound if argument is None else None
    return argument if bound == numeric() else bound


# --- constructors ---


def _of_bounds(type: ScalarType) -> Resolver:
    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        if len(types) not in (2, 3) or types[2:] not in ((), (TEXT,), (None,)):
            return None
        lower, upper = (_bound_type(type, argument) for argument in types[:2])
        if lower is None or upper is None:
            return None
        return (lower, upper, *(TEXT for _ in types[2:])), type

    return resolve


def _construct(engine: str) -> Writer:
    """NULL is no bound."""

    def write(site: Site) -> str:
        bounds = [
            f"coalesce({write_cast(engine, sql, type, TEXT)}, '')"
            for sql, type in zip(site.arguments[:2], site.types, strict=False)
        ]
        flags = (
            f"coalesce({site.arguments[2]}, '{NULL_FLAGS}')" if len(site.arguments) > 2 else "'[)'"
        )
        name = string(engine, site.result.name.value)
        return checked(engine, json_call("range_of", name, *bounds, flags))

    return write


for _kind in RANGE_TYPES.values():
    scalar(
        _kind.type.name.value,
        (
            "The range between two bounds; NULL is no bound. The third argument is one of `[)` (as "
            "without it), `[]`, `(]` and `()`: which bounds belong to the range."
        ),
        _of_bounds(_kind.type),
        duckdb=_construct("duckdb"),
        spark=_construct("spark"),
    )


# --- bounds ---


def _of_range(result: ScalarType) -> Resolver:
    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        [type] = types if len(types) == 1 else [None]
        return ((type,), result) if type is not None and type.is_range else None

    return resolve


def _bound(types: Types, constants: Mapping[int, object]) -> Signature | None:
    signature = _of_range(TEXT)(types, constants)
    return signature and (signature[0], RANGE_TYPES[signature[0][0].name].bound)


def _bound_value(engine: str, function: str) -> Writer:
    def write(site: Site) -> str:
        text = json_call(function, site.arguments[0])
        return with_value(engine, text, write_cast(engine, "v", TEXT, site.result))

    return write


for _side in ("lower", "upper"):
    scalar(
        f"range {_side}",
        f"The {_side} bound of a range; NULL if there is none.",
        _bound,
        duckdb=_bound_value("duckdb", f"range_{_side}"),
        spark=_bound_value("spark", f"range_{_side}"),
    )

for _name, _about, _test in (
    ("isempty", "Whether the range is empty.", "({0} = 'empty')"),
    ("lower_inc", "Whether the lower bound belongs to the range.", "(substring({0}, 1, 1) = '[')"),
    ("upper_inc", "Whether the upper bound belongs to the range.", "(right({0}, 1) = ']')"),
    ("lower_inf", "Whether the range has no lower bound.", "(substring({0}, 2, 1) = ',')"),
    ("upper_inf", "Whether the range has no upper bound.", "(right({0}, 2) = ',)')"),
):
    scalar(_name, _about, _of_range(BOOLEAN), _test)


# --- operators, by the names of PostgreSQL's functions ---


def _two_ranges(result: ScalarType | None = None) -> Resolver:
    """Ranges of one type. Without ``result``, another one is the result."""

    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        known = {type for type in types if type is not None}
        if len(types) != 2 or len(known) != 1:
            return None
        [type] = known
        return ((type, type), result or type) if type.is_range else None

    return resolve


def _with_value(is_turned: bool) -> Resolver:
    """A range, and a range or a value. A constant of open type is a range, as in PostgreSQL."""

    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        ranges = _two_ranges(BOOLEAN)(types, constants)
        if ranges is not None or len(types) != 2:
            return ranges
        whole, value_type = reversed(types) if is_turned else types
        if whole is None or value_type is None or not whole.is_range:
            return None
        element = _bound_type(whole, value_type)
        if element is None:
            return None
        return ((element, whole) if is_turned else (whole, element)), BOOLEAN

    return resolve


def _contains(engine: str, is_turned: bool) -> Writer:
    def write(site: Site) -> str:
        arguments = list(zip(site.arguments, site.types, strict=True))
        (whole, _), (part, type) = reversed(arguments) if is_turned else arguments
        if type.is_range:
            return json_call("range_contains", whole, part)
        return json_call("range_contains_value", whole, write_cast(engine, part, type, TEXT))

    return write


for _name, _about, _is_turned in (
    ("range_contains", "Whether the range contains the other one, or the value.", False),
    ("range_contained_by", "Whether the range, or the value, is in the other range.", True),
):
    scalar(
        _name,
        _about,
        _with_value(_is_turned),
        duckdb=_contains("duckdb", _is_turned),
        spark=_contains("spark", _is_turned),
    )


def _called(name: str) -> Writer:
    return lambda site: json_call(name, *site.arguments)


def _checked(engine: str, name: str) -> Writer:
    return lambda site: checked(engine, json_call(name, *site.arguments))


for _name, _about in (
    ("range_overlaps", "Whether the ranges have a value in common."),
    ("range_before", "Whether the first range ends before the second one begins."),
    ("range_after", "Whether the first range begins after the second one ends."),
    ("range_overleft", "Whether the first range does not extend to the right of the second."),
    ("range_overright", "Whether the first range does not extend to the left of the second."),
    ("range_adjacent", "Whether the ranges have no value in common, and none between them."),
):
    scalar(_name, _about, _two_ranges(BOOLEAN), _called(_name))

for _name, _about in (
    ("range_intersect", "The values that both ranges have."),
    ("range_merge", "The smallest range that contains both."),
):
    scalar(_name, _about, _two_ranges(), _called(_name))

for _name, _about in (
    ("range_union", "The values of both ranges, which must not lie apart."),
    ("range_minus", "The values of the first range that the second one does not have."),
):
    scalar(
        _name,
        _about,
        _two_ranges(),
        duckdb=_checked("duckdb", _name),
        spark=_checked("spark", _name),
    )

TOTAL = frozenset(
    {
        *("isempty", "lower_inc", "upper_inc", "lower_inf", "upper_inf"),
        *("range_contains", "range_contained_by", "range_overlaps", "range_before", "range_after"),
        *("range_overleft", "range_overright", "range_adjacent", "range_intersect", "range_merge"),
    }
)
"""The functions here that have a result for all arguments."""

"""Parts of arrays, comparisons of their elements, and conversions from and to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reclock.algebra.relations import BOOLEAN, INTEGER, TEXT, TypeName, array
from reclock.errors import UnsupportedSql
from reclock.plan.functions.array_sql import lengths, size
from reclock.plan.functions.arrays import Signature, on_array, printed
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.intervals import computed
from reclock.plan.functions.orders import has_own_order
from reclock.plan.functions.registry import SCALARS, Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element, raised, struct, type_sql
from reclock.plan.functions.typing import exact, operand_type

_EMPTY = {"duckdb": "[]", "spark": "array()"}


def _slice(engine: str, items: str, first: str, last: str) -> str:
    """The elements from an index to another, from 1; NULL if an argument is."""
    start = f"greatest({first}, 1)"
    part = (
        f"list_slice({items}, {start}, {last})"
        if engine == "duckdb"
        else f"slice({items}, {start}, {last} - {start} + 1)"
    )
    return (
        f"(CASE WHEN {items} IS NULL OR {first} IS NULL OR {last} IS NULL THEN NULL "
        f"WHEN {last} >= {start} THEN {part} ELSE {_EMPTY[engine]} END)"
    )


def _slice_types(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """An array, and for its first dimensions the indexes of the first and the last element."""
    bounds = len(types) - 1
    if bounds < 2 or bounds % 2 or types[0] is None or types[0].name is not TypeName.ARRAY:
        return None
    return exact(((types[0], *(INTEGER,) * bounds), types[0]))(types, constants)


def _sliced(engine: str) -> Writer:
    def part(items: str, first: str, last: str, *others: str) -> str:
        end = f"least({last}, {size(engine, items)})"
        rows = _slice(engine, items, first, f"(CASE WHEN {last} IS NOT NULL THEN {end} END)")
        return each_element(engine, rows, part("e", *others)) if others else rows

    def write(site: Site) -> str:
        if len(site.arguments) == 3:
            return f"CAST({part(*site.arguments)} AS {type_sql(engine, site.result)})"

        def body(*arguments: str) -> str:
            last_length = lengths(engine, "v", len(arguments) // 2)[-1]
            non_empty = f"CASE WHEN {last_length} > 0 THEN v ELSE {_EMPTY[engine]} END"
            return with_value(engine, part(*arguments), non_empty)

        sliced = computed(engine, site.arguments, body)
        return f"CAST({sliced} AS {type_sql(engine, site.result)})"

    return write


scalar(
    "slice",
    "The elements from an index to another, both from 1, of each dimension.",
    _slice_types,
    duckdb=_sliced("duckdb"),
    spark=_sliced("spark"),
)


def _trimmed(engine: str) -> Writer:
    size = "len({})" if engine == "duckdb" else "size({})"

    def body(items: str, count: str) -> str:
        length = size.format(items)
        error = raised(
            engine, "2202E", f"'number of elements to trim must be between 0 and ', {length}"
        )
        return (
            f"CASE WHEN {count} NOT BETWEEN 0 AND {length} THEN {error} "
            f"ELSE {_slice(engine, items, '1', f'{length} - {count}')} END"
        )

    return lambda site: (
        f"CAST({computed(engine, site.arguments, body)} AS {type_sql(engine, site.result)})"
    )


scalar(
    "trim_array",
    "The array without so many elements at its end.",
    on_array(lambda element: (INTEGER,), array),
    duckdb=_trimmed("duckdb"),
    spark=_trimmed("spark"),
)


def _sorted(form: str) -> Writer:
    def write(site: Site) -> str:
        element = site.result.element
        assert element is not None
        if element.has_intervals or has_own_order(element):
            raise UnsupportedSql(
                f"array_sort of {site.result} is not supported",
                hint="write ARRAY(SELECT x FROM unnest(…) AS t (x) ORDER BY x)",
            )
        return form.format(*site.arguments)

    return write


scalar(
    "array_sort",
    "The elements in ascending order, NULLs last.",
    on_array(lambda element: (), array),
    duckdb=_sorted("list_sort({0}, 'ASC', 'NULLS LAST')"),
    spark=_sorted("array_sort({0})"),
)

# --- positions ---

_POSITIONS = {
    "duckdb": "list_filter(range(1, len({0}) + 1), lambda i: {0}[i] IS NOT DISTINCT FROM {1})",
    "spark": (
        "filter(transform({0}, (x, i) -> CASE WHEN x <=> {1} THEN i + 1 END), i -> i IS NOT NULL)"
    ),
}


def _positions(engine: str) -> Writer:
    return lambda site: (
        f"CAST({_POSITIONS[engine].format(*site.arguments)} AS {type_sql(engine, site.result)})"
    )


def _position_from(engine: str) -> Writer:
    def write(site: Site) -> str:
        positions, start = _POSITIONS[engine].format(*site.arguments), site.arguments[2]
        if engine == "duckdb":
            first = f"list_min(list_filter({positions}, lambda i: i >= {start}))"
        else:
            first = f"array_min(filter({positions}, i -> i >= {start}))"
        null = raised(engine, "22004", "'initial position must not be null'")
        return (
            f"CAST(CASE WHEN {site.arguments[0]} IS NOT NULL AND {site.arguments[1]} IS NOT NULL "
            f"AND {start} IS NULL THEN {null} "
            f"ELSE {first} END AS {type_sql(engine, site.result)})"
        )

    return write


scalar(
    "array_positions",
    "The indexes of the elements that are equal.",
    on_array(lambda element: (element,), lambda element: array(INTEGER)),
    duckdb=_positions("duckdb"),
    spark=_positions("spark"),
)
scalar(
    "array_position from",
    "The index of the first element that is equal, from an index on.",
    on_array(lambda element: (element, INTEGER), lambda element: INTEGER),
    duckdb=_position_from("duckdb"),
    spark=_position_from("spark"),
)

# --- text ---

scalar(
    "string_to_array with null",
    "The parts of a text between delimiters; NULL for those that are equal to a third text.",
    exact(((array(TEXT), TEXT), array(TEXT))),
    duckdb="list_transform({0}, lambda x: nullif(x, {1}))",
    spark="transform({0}, x -> nullif(x, {1}))",
)


def _printed_elements(types: Types, constants: Mapping[int, object]) -> Signature | None:
    signature = printed(types, constants)
    return None if signature is None else (signature[0], array(TEXT))


scalar(
    "elements or",
    "The elements of an array, with a text for each NULL.",
    _printed_elements,
    duckdb="list_transform({0}, lambda x: coalesce(x, {1}))",
    spark="transform({0}, x -> coalesce(x, {1}))",
)


# --- arrays as sets ---


def _both_arrays(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) != 2 or all(type is None for type in types):
        return None
    if any(type is not None and not type.is_array for type in types):
        return None
    elements = [None if type is None else type.element for type in types]
    common = operand_type(elements)
    return ((array(common),) * 2, BOOLEAN) if common is not None else None


def _is_any(engine: str, items: str, condition: str) -> str:
    """Whether ``condition``, an expression of ``e`` that is never NULL, is true of an element."""
    if engine == "spark":
        return f"exists({items}, e -> {condition})"
    return f"coalesce(list_bool_or({each_element(engine, items, condition)}), FALSE)"


def _holds(engine: str, items: str, element: str) -> str:
    if engine == "spark":
        return f"coalesce(array_contains({items}, {element}), FALSE)"
    return f"coalesce(list_contains({items}, {element}), FALSE)"


def _of_sets(engine: str, body: Callable[[str, str, str], str]) -> Writer:
    return lambda site: computed(
        engine, site.arguments, lambda left, right: body(engine, left, right)
    )


def _overlaps(engine: str, left: str, right: str) -> str:
    return _is_any(engine, left, _holds(engine, right, "e"))


def _contains(engine: str, left: str, right: str) -> str:
    return f"NOT {_is_any(engine, right, f'NOT {_holds(engine, left, chr(101))}')}"


for _name, _about, _body in (
    ("array_overlaps", "Whether the arrays have an element in common.", _overlaps),
    ("array_contains", "Whether the first array has all elements of the second.", _contains),
    (
        "array_contained",
        "Whether the second array has all elements of the first.",
        lambda engine, left, right: _contains(engine, right, left),
    ),
):
    scalar(
        _name,
        _about,
        _both_arrays,
        duckdb=_of_sets("duckdb", _body),
        spark=_of_sets("spark", _body),
    )


# --- an operator with ANY and ALL ---


def _each_compared(base: str) -> Resolver:
    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        if len(types) != 2 or types[1] is None or types[1].element is None:
            return None
        if not types[1].is_array or types[1].element.name is TypeName.INTERVAL:
            return None
        signature = SCALARS[base].resolve((types[0], types[1].element), {})
        return None if signature is None else ((signature[0][0], array(signature[0][1])), BOOLEAN)

    return resolve


def _quantified(engine: str, base: str, is_any: bool) -> Writer:
    def write(site: Site) -> str:
        element = site.types[1].element
        assert element is not None
        if element.has_order_key and engine == "spark" and base not in ("=", "<>"):
            raise UnsupportedSql(
                "an order of ranges or documents within arrays is not computed by Spark"
            )

        def of(operand: str, items: str) -> str:
            compared = SCALARS[base].writers[engine](
                Site((operand, "e"), (site.types[0], element), BOOLEAN)
            )
            if engine == "spark":
                return f"{'exists' if is_any else 'forall'}({items}, e -> {compared})"
            results = each_element(engine, items, compared)
            is_known = "list_count(v) = len(v)"
            if is_any:
                cases = f"WHEN list_bool_or(v) THEN TRUE WHEN {is_known} THEN FALSE"
            else:
                cases = f"WHEN NOT list_bool_and(v) THEN FALSE WHEN {is_known} THEN TRUE"
            return with_value(engine, results, f"CASE {cases} END")

        operand, items = site.arguments
        null = type_sql(engine, BOOLEAN)
        return (
            f"(CASE WHEN {items} IS NULL THEN CAST(NULL AS {null}) ELSE {of(operand, items)} END)"
        )

    return write


for _base in ("=", "<>", "<", "<=", ">", ">=", "like", "ilike", "~", "~*"):
    for _word in ("any", "all"):
        if (_name := f"{_base} {_word}") in SCALARS:
            continue
        scalar(
            _name,
            f"Whether `{_base}` holds for {'some element' if _word == 'any' else 'all elements'}.",
            _each_compared(_base),
            duckdb=_quantified("duckdb", _base, _word == "any"),
            spark=_quantified("spark", _base, _word == "any"),
        )


# --- copies of a value ---


def _filled_type(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) < 2 or types[0] is None or types[0].is_array:
        return None
    sizes = len(types) - 1
    return exact(((types[0], *(INTEGER,) * sizes), array(types[0], sizes)))(types, constants)


def _filled(engine: str) -> Writer:
    """As ``array_fill``: no value is NULL, and a length of 0 makes the array an empty one."""

    def copies(value: str, length: str) -> str:
        if engine == "spark":
            return f"array_repeat({value}, {length})"
        return f"list_transform(range(0, {length}), lambda i: {value})"

    def write(site: Site) -> str:
        value, *sizes = site.arguments
        type = type_sql(engine, site.result)
        null = raised(engine, "22004", "'dimension values cannot be null'")
        too_many = raised(engine, "54000", "'array size exceeds the maximum allowed (134217727)'")

        def filled(packed: str) -> str:
            names = [f"{packed}.n{place}" for place in range(len(sizes))]
            value = f"{packed}.x"
            for name in reversed(names):
                value = copies(value, name)
            total = " * ".join(f"CAST({name} AS DOUBLE)" for name in names)
            return (
                f"CASE WHEN {' OR '.join(f'{name} IS NULL' for name in names)} THEN {null} "
                f"WHEN {' OR '.join(f'{name} < 0' for name in names)} THEN {too_many} "
                f"WHEN {total} > {_MOST_ELEMENTS} THEN {too_many} "
                f"WHEN {total} = 0 THEN {_EMPTY[engine]} ELSE {value} END"
            )

        named = {"x": value} | {f"n{place}": length for place, length in enumerate(sizes)}
        return f"CAST({with_value(engine, struct(engine, named), filled('v'))} AS {type})"

    return write


_MOST_ELEMENTS = 134_217_727

scalar(
    "array_fill",
    "An array of copies of a value, of the lengths that the second argument has for its dimensions.",
    _filled_type,
    duckdb=_filled("duckdb"),
    spark=_filled("spark"),
)

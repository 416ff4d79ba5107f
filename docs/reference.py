"""Writes the reference pages that follow from the code: ``python docs/reference.py``. A test
compares them with the code."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from pydantic import SecretStr

import reclock
from reclock.adapter.context.variables import VARIABLES
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    CIDR,
    DATE,
    DOUBLE,
    INET,
    INTEGER,
    INTERVAL,
    JSONB,
    REAL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    TypeName,
    array,
    numeric,
)
from reclock.config import Settings
from reclock.errors import ReclockError
from reclock.introspection.builtins import BUILTINS
from reclock.plan.functions import AGGREGATES, SCALARS
from reclock.plan.functions.byte_strings import OF_BYTES
from reclock.plan.functions.registry import Function
from reclock.sql.queries.sql_functions import SQL_FUNCTIONS

DOCS = Path(__file__).parent


def settings() -> str:
    rows = []
    for name, setting in Settings.model_fields.items():
        default = (
            setting.default.get_secret_value()
            if isinstance(setting.default, SecretStr)
            else setting.default
        )
        shown = f"`{default}`" if str(default) else ""
        rows.append(f"| `{name}` | {shown} | {setting.description} |")
    return _page(
        "Settings",
        """Every setting has a default. `reclock.toml` in the environment's home overrides it (`log_level =
"DEBUG"`). An environment variable `RECLOCK_<NAME>` overrides both (`RECLOCK_LOG_LEVEL=DEBUG`).
`home` itself comes from `--home` or `RECLOCK_HOME`. An unknown name in `reclock.toml` is an error.""",
        "| setting | default | meaning |\n|---|---|---|",
        rows,
    )


def errors() -> str:
    return _page(
        "Errors",
        """Every error has a message and a SQLSTATE, and many have a detail and a hint. Those of
syntax, names and types say at which character the statement is wrong, so that clients can show the
place. In Python, all are subclasses of `reclock.errors.ReclockError`. Errors share a SQLSTATE if a
client would handle them in the same way. For `40001`, run the transaction again.""",
        "| error | SQLSTATE | meaning |\n|---|---|---|",
        [
            f"| `{error.__name__}` | `{error.sqlstate}` | {_first_paragraph(error)} |"
            for error in _defined(ReclockError)
        ],
    )


def system_relations() -> str:
    return _page(
        "System relations",
        """Any query can read these relations. They are computed when they are read, from the catalog and from consensus.
[Monitoring](introspection.md) says which relation answers which question.""",
        "| relation | columns |\n|---|---|",
        [
            f"| `{builtin.schema}.{builtin.name}` | {', '.join(builtin.desc.names)} |"
            for builtin in BUILTINS
        ],
    )


def variables() -> str:
    return _page(
        "Session variables",
        "Show a variable with `SHOW name`, all with `SHOW ALL`. Change it with `SET name "
        "= value`, and go back to its default\n"
        "with `RESET name`. `ALTER ROLE … SET` and `ALTER SYSTEM SET` change defaults.",
        "| variable | default | meaning |\n|---|---|---|",
        [
            f"| `{name}` | {variable.default} | {variable.description} |"
            for name, variable in sorted(VARIABLES.items())
        ],
    )


_SCALARS = (
    BOOLEAN,
    SMALLINT,
    INTEGER,
    BIGINT,
    numeric(),
    REAL,
    DOUBLE,
    TEXT,
    BYTEA,
    DATE,
    TIMESTAMP,
    TIMESTAMPTZ,
    INTERVAL,
    JSONB,
    INET,
    CIDR,
)
_SAMPLES = (*_SCALARS, array(TEXT))
_FAMILIES = (
    ("any type", frozenset(str(type) for type in _SAMPLES)),
    ("any number", frozenset(str(type) for type in _SAMPLES if type.is_number)),
    ("any integer", frozenset(str(type) for type in _SAMPLES if type.is_integer)),
)
_SYNTAX = {
    **{function: f"{name}(…)" for name, function in reversed(OF_BYTES.items())},
    "normalize": "normalize(x, NFC)",
    "is_normalized": "x IS NFC NORMALIZED",
    "negate": "-x",
    "timezone": "moment AT TIME ZONE zone",
    "extract": "extract(field FROM moment)",
    "array": "ARRAY[x, …]",
    "array_cat": "a || b",
    "array_fill": "array_fill(x, ARRAY[length, …])",
    "all elements": "(the elements of an array of several dimensions)",
    "collected arrays": "array_agg(array)",
    "elements and dimensions": "(how arrays of different dimensions are compared)",
    "printed": "(a value as clients see it, as in concat(x); of a char(n) with its blanks, as in x LIKE y)",
    "nullif": "any type, any type → the same",
    "only element": "(the row of a function in FROM that returns no rows)",
    "subscript": "a[index]",
    "= any": "x = ANY (a)",
    "elements": "unnest(a)",
    "series": "generate_series(start, stop, step)",
    "is_not_distinct": "x IS NOT DISTINCT FROM y",
    "is_null": "x IS NULL",
    "is_true": "x IS TRUE",
    "kind of text": "x IS JSON …",
    "is_false": "x IS FALSE",
    "not": "NOT x",
    "only row": "(SELECT …)",
    "LIMIT of": "LIMIT x",
    "identifier of": "format('%I', x)",
    "OFFSET of": "OFFSET x",
    "record of": "ROW(a, b), or (a, b), or the name of a relation",
    "field of": "(record).name",
    "map keys": "unnest(map), m ? key, map_length(m)",
    "map values": "unnest(map), m -> key",
    "map entries": "m @> n",
    "map_build": "map_build(list), or MAP[key => value, …]",
    "list_length_max": "list_length_max(list, layer)",
    "interval span": "(how intervals are compared)",
    "interval iso text": "x::text, with SET intervalstyle = iso_8601",
    "within_length": "x::varchar(n)",
    "left_of_each": "x::varchar(n)[]",
    "cast in a time zone": "(casts of arrays and records of moments, in the session's time zone)",
    "to_jsonb in a time zone": "(to_jsonb, in the session's time zone)",
    "jsonb_build_array in a time zone": "(jsonb_build_array, in the session's time zone)",
    "jsonb_build_object in a time zone": "(jsonb_build_object, in the session's time zone)",
    "in domain": "x::domain",
    "name": "x::name",
    "concat": "x || y",
    "->": "document -> key",
    "rows of jsonb_array_elements": "jsonb_array_elements(document)",
    "rows of jsonb_array_elements_text": "jsonb_array_elements_text(document)",
    "rows of jsonb_object_keys": "jsonb_object_keys(document)",
    "rows of jsonb_each": "jsonb_each(document)",
    "rows of jsonb_each_text": "jsonb_each_text(document)",
    "merged objects": "jsonb_object_agg(key, value)",
    "rows of keys": "(the keys of jsonb_each)",
    "->>": "document ->> key",
    "#>": "document #> path",
    "#>>": "document #>> path",
    "jsonb_contains": "x @> y",
    "jsonb_contained": "x <@ y",
    "jsonb_exists": "document ? key",
    "jsonb_exists_any": "document ?| keys",
    "jsonb_exists_all": "document ?& keys",
    "jsonb_concat": "x || y",
    "jsonb_delete": "document - key",
    "jsonb_delete_path": "document #- path",
    "position": "position(x IN y)",
    "range lower": "lower(range)",
    "range upper": "upper(range)",
    "range_contains": "x @> y",
    "range_contained_by": "x <@ y",
    "range_overlaps": "x && y",
    "range_before": "x << y",
    "range_after": "x >> y",
    "range_overleft": "x &< y",
    "range_overright": "x &> y",
    "range_adjacent": "x -|- y",
    "range_intersect": "x * y",
    "range_union": "x + y",
    "range_minus": "x - y",
    "network_sub": "x << y",
    "network_subeq": "x <<= y",
    "network_sup": "x >> y",
    "network_supeq": "x >>= y",
    "network_overlaps": "x && y",
    "network_not": "~ x",
    "inetand": "x & y",
    "inetor": "x | y",
    "inetpl": "x + y",
    "inetmi": "x - y",
    "mode": "mode() WITHIN GROUP (ORDER BY x [DESC])",
    "percentile_cont": "percentile_cont(fraction, or ARRAY[fraction, …]) WITHIN GROUP (ORDER BY x [DESC])",
    "percentile_disc": "percentile_disc(fraction, or ARRAY[fraction, …]) WITHIN GROUP (ORDER BY x [DESC])",
}
"""How SQL writes what is called by a name of its own in plans."""


def functions() -> str:
    scalars = [_function_row(function) for _, function in sorted(SCALARS.items())]
    aggregates = [_function_row(function) for _, function in sorted(AGGREGATES.items())]
    head = "| function | in SQL | arguments → result | what it returns |\n|---|---|---|---|"
    return _page(
        "Functions",
        """Every function and operator that plans are made of, by the name that `EXPLAIN` prints. Arguments are cast to these types
where PostgreSQL would cast them implicitly. `text[]` stands for an array of any type, `…` for more arguments of the same type.
[Window functions](sql.md) and functions about the session and the catalog are not in this list.

## Scalar functions and operators""",
        head,
        [
            *scalars,
            "",
            "## Aggregates",
            "",
            head,
            *aggregates,
            "",
            "## Functions defined in SQL",
            "",
            "A call of these is planned as the expression that defines it, over `argument1`, "
            "`argument2`, …",
            "",
            "| function | arguments | definition |\n|---|---|---|",
            *_functions_in_sql(),
        ],
    )


def _functions_in_sql() -> Iterator[str]:
    for name, overloads in sorted(SQL_FUNCTIONS.items()):
        for function in overloads:
            arguments = ", ".join(map(str, function.types)) or "nothing"
            body = " ".join(function.body.split()).replace("|", "\\|")
            yield f"| `{name}` | {arguments.replace('numeric(38,9)', 'numeric')} | `{body}` |"


def _function_row(function: Function) -> str:
    name = function.name
    default = (
        f"{name}(…)"
        if name.isidentifier() and name not in ("and", "or", "like", "ilike")
        else f"x {name.upper()} y"
    )
    syntax = _SYNTAX.get(name, default).replace("|", "\\|")
    return (
        f"| `{name.replace('|', chr(92) + '|')}` | `{syntax}` | {_signatures(function)} | "
        f"{function.description} |"
    )


_SIGNATURES = {
    "array": "any type, … → array of it",
    "array_agg": "any type → array of it",
    "array_fill": "any type, integer, … → array of it",
    "collected arrays": "text[][] → text[][]",
    "printed": "`boolean` or `char(n)` or `inet` → text; of arrays of these → `text[]`",
    "only element": "any type → array of it",
    "elements": "text[] → rows of text",
    "jsonb_build_array": "any type, … → jsonb",
    "jsonb_build_object": "any type, any type, … → jsonb",
    "jsonb_extract_path": "jsonb, text, … → jsonb",
    "jsonb_extract_path_text": "jsonb, text, … → text",
    "to_jsonb": "any type → jsonb",
    "num_nulls": "any type, … → integer",
    "num_nonnulls": "any type, … → integer",
    "negate": "any number or interval → the same",
    "only row": "bigint, any type → its type",
    "in domain": "any type, text, text → its type",
    "record of": "any type, … → record",
    "field of": "record, place → type of the field",
    "map keys": "a map → text[]",
    "map values": "a map → array of its values",
    "map entries": "a map → array of records",
    "map_build": "a list of records → a map",
    "list_length_max": "a list, integer → integer",
    "mode": "any type with an order → its type",
    "percentile_cont": "any number, double precision → double precision",
    "percentile_disc": "any type with an order, double precision → its type",
    "string_agg": "text, text → text; bytea, bytea → bytea",
    "numrange": "numeric, numeric → numrange; numeric, numeric, text → numrange",
    "range lower": "a range → the type of its values",
    "range upper": "a range → the type of its values",
    "range_contains": "a range, the same or a value of it → boolean",
    "range_contained_by": "a range or a value, a range of it → boolean",
    **dict.fromkeys(
        ("isempty", "lower_inc", "upper_inc", "lower_inf", "upper_inf"), "a range → boolean"
    ),
    **dict.fromkeys(
        (
            *("range_overlaps", "range_before", "range_after", "range_overleft"),
            *("range_overright", "range_adjacent"),
        ),
        "a range, the same → boolean",
    ),
    **dict.fromkeys(
        ("range_intersect", "range_union", "range_minus", "range_merge"),
        "a range, the same → the same",
    ),
}
"""Of functions of any type beside others, which trying types would list one by one."""


def _signatures(function: Function) -> str:
    """What the function takes without a cast, found by trying: arguments of one type by families of
    types, others one by one."""
    if function.name in _SIGNATURES:
        return _SIGNATURES[function.name]
    lines: list[str] = []
    is_variadic = (
        function.resolve((BOOLEAN,) * 6, {}) is not None
        or function.resolve((TEXT,) * 6, {}) is not None
    )
    for arity in range(3 if is_variadic else 4):
        found = {
            types: result
            for types in product(_SAMPLES, repeat=arity)
            if (result := _result(function, types)) is not None
        }
        alike = {
            str(types[0]): str(result) for types, result in found.items() if len(set(types)) == 1
        }
        if not is_variadic or arity == 2:
            lines += _alike(alike, arity, ", …" if is_variadic else "")
        others = [(types, result) for types, result in found.items() if len(set(types)) != 1]
        lines += [
            f"{', '.join(map(str, types)) or 'nothing'} → {result}" for types, result in others
        ]
    shorter = (
        "; ".join(lines)
        .replace("timestamp without time zone", "timestamp")
        .replace("timestamp with time zone", "timestamptz")
    )
    return shorter.replace("numeric(38,9)", "numeric")


def _result(function: Function, types: tuple[ScalarType, ...]) -> ScalarType | None:
    """What it returns for arguments of these types as they are."""
    found = function.resolve(types, {})
    if found is None or [(type.name, type.element) for type in found[0]] != [
        (type.name, type.element) for type in types
    ]:
        return None
    return numeric() if found[1].name is TypeName.NUMERIC else found[1]


def _alike(results: dict[str, str], arity: int, more: str) -> Iterator[str]:
    """``results`` by the type of all arguments."""
    is_one = len(set(results.values())) == 1
    for result in (
        dict.fromkeys(results.values())
        if is_one
        else ["the same", *dict.fromkeys(results.values())]
    ):
        names = {
            name
            for name, own in results.items()
            if (own if is_one or own != name else "the same") == result
        }
        for family in _families(names):
            shown = family if result == "the same" and family not in dict(_FAMILIES) else result
            yield f"{', '.join([family] * arity)}{more} → {shown}"


def _families(names: set[str]) -> list[str]:
    found = []
    for family, members in _FAMILIES:
        if members <= names:
            found.append(family)
            names = names - members
    return found + [str(type) for type in _SAMPLES if str(type) in names]


PAGES = {
    "settings.md": settings,
    "errors.md": errors,
    "system_relations.md": system_relations,
    "variables.md": variables,
    "functions.md": functions,
}


def _page(title: str, text: str, head: str, rows: list[str]) -> str:
    return f"# {title}\n\n{text}\n\n{head}\n" + "\n".join(rows) + "\n"


def _first_paragraph(error: type[ReclockError]) -> str:
    return " ".join((error.__doc__ or "").split("\n\n")[0].split())


def _defined(root: type[ReclockError]) -> list[type[ReclockError]]:
    """The root and everything below it that the package defines, each once."""
    for module in pkgutil.walk_packages(reclock.__path__, "reclock."):
        if module.name != "reclock.consensus.migrations.env":  # a script that only Alembic can run
            importlib.import_module(module.name)
    found = {error for error in _subclasses(root) if error.__module__.startswith("reclock.")}
    return sorted(found, key=lambda error: (error.sqlstate, error.__name__))


def _subclasses(root: type[ReclockError]) -> Iterator[type[ReclockError]]:
    yield root
    for child in root.__subclasses__():
        yield from _subclasses(child)


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())

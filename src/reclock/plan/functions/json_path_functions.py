"""Functions of paths (``jsonpath``, here a text) into JSON documents."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import BOOLEAN, JSONB, TEXT, ScalarType, array
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.jsonb import ROWS_OF
from reclock.plan.functions.registry import Resolver, Site, Writer, scalar
from reclock.plan.functions.typing import exact

_DEFAULTS = ("'{}'", "FALSE")
"""Of the variables, and of whether errors of the document are passed over."""


def _takes(result: ScalarType) -> Resolver:
    types = (JSONB, TEXT, JSONB, BOOLEAN)
    return exact(*((types[:count], result) for count in (2, 3, 4)))


def _called(engine: str, function: str, arguments: Sequence[str]) -> str:
    padded = [*arguments, *_DEFAULTS[len(arguments) - 2 :]]
    return checked(engine, json_call(function, *padded))


def _test(engine: str, function: str) -> Writer:
    return lambda site: f"CAST({_called(engine, function, site.arguments)} AS BOOLEAN)"


def _items(engine: str) -> Writer:
    return lambda site: _called(engine, "path_items", site.arguments)


def _first(engine: str) -> Writer:
    return lambda site: json_call("element", _items(engine)(site), "0")


def _rows(engine: str) -> Writer:
    def write(site: Site) -> str:
        return json_call("items", _items(engine)(site))

    return write


scalar(
    "jsonb_path_exists",
    "Whether a path finds something in a document.",
    _takes(BOOLEAN),
    duckdb=_test("duckdb", "path_exists"),
    spark=_test("spark", "path_exists"),
)
scalar(
    "jsonb_path_match",
    "The result of a path that is a predicate.",
    _takes(BOOLEAN),
    duckdb=_test("duckdb", "path_match"),
    spark=_test("spark", "path_match"),
)
scalar(
    "jsonb_path_query_array",
    "What a path finds in a document, as an array. `jsonb_path_query` returns it as rows.",
    _takes(JSONB),
    duckdb=_items("duckdb"),
    spark=_items("spark"),
)
scalar(
    "jsonb_path_query_first",
    "The first that a path finds in a document.",
    _takes(JSONB),
    duckdb=_first("duckdb"),
    spark=_first("spark"),
)
scalar(
    f"{ROWS_OF}jsonb_path_query",
    "What a path finds in a document.",
    _takes(array(JSONB)),
    duckdb=_rows("duckdb"),
    spark=_rows("spark"),
)

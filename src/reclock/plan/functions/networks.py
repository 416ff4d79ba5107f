"""Addresses and networks, ``inet`` and ``cidr``. A value is its text in normal form. The functions
are Python functions that both engines call (`json_calls`)."""

from __future__ import annotations

from reclock.algebra.relations import BIGINT, BOOLEAN, CIDR, INET, INTEGER, TEXT
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.registry import Resolver, Site, Writer, scalar
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.functions.typing import exact


def inet_to_text(engine: str, sql: str) -> str:
    """The text that a cast makes: with the prefix, also of an address alone."""
    all_bits = "CASE WHEN v LIKE '%:%' THEN '/128' ELSE '/32' END"
    return with_value(
        engine,
        sql,
        f"CASE WHEN v LIKE '%/%' THEN v WHEN v IS NOT NULL THEN concat(v, {all_bits}) END",
    )


def _called(function: str) -> Writer:
    return lambda site: json_call(f"network_{function}", *site.arguments)


def _register(name: str, description: str, resolve: Resolver, function: str) -> None:
    """What has a result for all arguments."""
    scalar(name, description, resolve, _called(function))


def _register_checked(name: str, description: str, resolve: Resolver, function: str) -> None:
    """What can fail."""
    written = _called(function)
    scalar(
        name,
        description,
        resolve,
        duckdb=lambda site: checked("duckdb", written(site)),
        spark=lambda site: checked("spark", written(site)),
    )


_OF_ONE = (
    ("broadcast", "The last address of the network.", INET, "broadcast"),
    ("family", "The version of the address: 4 or 6.", INTEGER, "family"),
    ("host", "The address, without the prefix, as text.", TEXT, "host"),
    ("hostmask", "The bits of an address that tell hosts of the network apart.", INET, "host_mask"),
    ("masklen", "The length of the network's prefix in bits.", INTEGER, "prefix_length"),
    ("netmask", "The bits of an address that belong to the network.", INET, "net_mask"),
    ("network", "The network of an address, without the bits of the host.", CIDR, "as_cidr"),
    ("network_not", "The address with every bit the other way.", INET, "not"),
)
for _name, _about, _result, _function in _OF_ONE:
    _register(_name, _about, exact(((INET,), _result)), _function)


def _abbreviated(engine: str) -> Writer:
    def write(site: Site) -> str:
        [network] = site.arguments
        return network if site.types[0] == INET else json_call("network_abbreviated", network)

    return write


scalar(
    "abbrev",
    "The text of an address or network, without the octets of a network that are zero.",
    exact(((INET,), TEXT), ((CIDR,), TEXT)),
    duckdb=_abbreviated("duckdb"),
    spark=_abbreviated("spark"),
)

_PAIR = (INET, INET)
_OF_TWO = (
    ("inet_same_family", "Whether both addresses are of IPv4, or of IPv6.", "is_same_family"),
    ("network_overlaps", "Whether a network contains the other, or both are the same.", "overlaps"),
    (
        "network_supeq",
        "Whether the network contains the other, or is the same.",
        "contains_or_equals",
    ),
    ("network_sup", "Whether the network contains the other, and is larger.", "contains"),
)
for _name, _about, _function in _OF_TWO:
    _register(_name, _about, exact((_PAIR, BOOLEAN)), _function)
for _name, _about, _function in (
    ("network_subeq", "Whether the network is in the other, or is the same.", "contains_or_equals"),
    ("network_sub", "Whether the network is in the other, and is smaller.", "contains"),
):
    scalar(
        _name,
        _about,
        exact((_PAIR, BOOLEAN)),
        json_call(f"network_{_function}", "{1}", "{0}"),
    )

_register_checked(
    "inet_merge",
    "The smallest network around both.",
    exact((_PAIR, CIDR)),
    "merged",
)
for _name, _about, _function in (
    ("inetand", "Bitwise AND of two addresses.", "and"),
    ("inetor", "Bitwise OR of two addresses.", "or"),
):
    _register_checked(_name, _about, exact((_PAIR, INET)), _function)


def _with_prefix(engine: str) -> Writer:
    def write(site: Site) -> str:
        name = "with_prefix" if site.result == INET else "cidr_with_prefix"
        return checked(engine, json_call(f"network_{name}", *site.arguments))

    return write


scalar(
    "set_masklen",
    "The address in a network of a prefix of so many bits; the network of such a prefix.",
    exact(((INET, INTEGER), INET), ((CIDR, INTEGER), CIDR)),
    duckdb=_with_prefix("duckdb"),
    spark=_with_prefix("spark"),
)


def _moved(engine: str, sign: str) -> Writer:
    def write(site: Site) -> str:
        places = dict(zip(site.types, site.arguments, strict=True))
        text = type_sql(engine, TEXT)
        moved = json_call("network_moved", places[INET], f"CAST({sign}{places[BIGINT]} AS {text})")
        return checked(engine, moved)

    return write


def _distance(engine: str) -> Writer:
    def write(site: Site) -> str:
        if site.result == INET:
            return _moved(engine, "-")(site)
        places = checked(engine, json_call("network_distance", *site.arguments))
        return f"CAST({places} AS {type_sql(engine, BIGINT)})"

    return write


scalar(
    "inetpl",
    "The address so many places further.",
    exact(((INET, BIGINT), INET), ((BIGINT, INET), INET)),
    duckdb=_moved("duckdb", ""),
    spark=_moved("spark", ""),
)
scalar(
    "inetmi",
    "The address so many places before; the places between two addresses.",
    exact((_PAIR, BIGINT), ((INET, BIGINT), INET)),
    duckdb=_distance("duckdb"),
    spark=_distance("spark"),
)

TOTAL = frozenset({"abbrev", *(name for name, *_ in (*_OF_ONE, *_OF_TWO))}) | {
    "network_sub",
    "network_subeq",
}
"""The functions here that have a result for all arguments."""

"""Functions of networks that the engines call, on columns of their texts in normal form."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra import networks
from reclock.compute.expressions.python_functions import (
    BOOLEAN,
    INTEGER,
    TEXT,
    PythonFunction,
    or_failure,
)


def _moved(text: str, places: str) -> str:
    return networks.moved(text, int(places))


NETWORK_FUNCTIONS: Mapping[str, PythonFunction] = {
    **{
        f"network_{name}": PythonFunction(function, (TEXT,), TEXT)
        for name, function in {
            "order": networks.order_key,
            "as_cidr": networks.as_cidr,
            "as_inet": networks.as_inet,
            "broadcast": networks.broadcast,
            "host": networks.host,
            "host_mask": networks.host_mask,
            "net_mask": networks.net_mask,
            "abbreviated": networks.abbreviated,
            "not": networks.negated,
        }.items()
    },
    **{
        f"network_{name}": PythonFunction(function, (TEXT,), INTEGER)
        for name, function in {
            "prefix_length": networks.prefix_length,
            "family": networks.family,
        }.items()
    },
    **{
        f"network_{name}": PythonFunction(function, (TEXT, TEXT), BOOLEAN)
        for name, function in {
            "contains": networks.contains,
            "contains_or_equals": networks.contains_or_equals,
            "overlaps": networks.overlaps,
            "is_same_family": networks.is_same_family,
        }.items()
    },
    **{
        f"network_{name}": PythonFunction(or_failure(function), (TEXT, TEXT), TEXT)
        for name, function in {
            "merged": networks.merged,
            "and": networks.bits_of_both,
            "or": networks.bits_of_either,
            "distance": networks.distance,
            "moved": _moved,
        }.items()
    },
    **{
        f"network_{name}": PythonFunction(or_failure(function), (TEXT, INTEGER), TEXT)
        for name, function in {
            "with_prefix": networks.with_prefix,
            "cidr_with_prefix": networks.cidr_with_prefix,
        }.items()
    },
}

"""Functions of enums that follow from the type: ``enum_first``, ``enum_last`` and ``enum_range``."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.defined_types import EnumType
from reclock.algebra.relations import array, enum
from reclock.errors import UnknownFunction, UnsupportedSql
from reclock.plan.scalars import Literal
from reclock.sql.queries.coercion import coerce
from reclock.sql.queries.planned import Planned

_ARGUMENTS = {"enum_first": (1,), "enum_last": (1,), "enum_range": (1, 2)}
ENUM_FUNCTIONS = frozenset(_ARGUMENTS)


def enum_call(name: str, values: Sequence[Planned]) -> Literal:
    """The value of a call, whose arguments only say the type, or the ends of a range. Raises
    ``UnknownFunction``, and ``UnsupportedSql`` for ends that are no constants."""
    types = [value.type for value in values]
    enums = {type.enum for type in types if type is not None}
    type = next(iter(enums), None)
    if type is None or len(enums) > 1 or len(values) not in _ARGUMENTS[name]:
        raise UnknownFunction(name, ["unknown" if type is None else str(type) for type in types])
    if name == "enum_range":
        return Literal(_labels(type, values), array(enum(type)))
    label = type.labels[0 if name == "enum_first" else -1] if type.labels else None
    return Literal(label, enum(type))


def _labels(type: EnumType, values: Sequence[Planned]) -> tuple[str, ...]:
    """The labels of the type, or those from the one to the other of two values; NULL is no end."""
    if len(values) == 1:
        return type.labels
    ends = [coerce(value, enum(type)) for value in values]
    first, last = 0, len(type.labels) - 1
    for place, end in enumerate(ends):
        if not isinstance(end, Literal):
            raise UnsupportedSql("enum_range of values that are not constants is not supported")
        if end.value is not None:
            at = type.labels.index(end.value)
            first, last = (at, last) if place == 0 else (first, at)
    return type.labels[first : last + 1]

"""What a scalar type has of the type that a user defined: domains, composite types and enums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DefinedName:
    """The name of a domain or a composite type, the item ``id``. ``name`` and ``qualified`` are as
    of an enum."""

    id: str
    name: str
    qualified: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnumType:
    """A type that a user defined, the item ``id``, by its ``labels`` in order. ``name`` is written
    as in SQL, with the schema unless that is ``public``; ``qualified`` are the parts of the full
    name."""

    id: str
    name: str
    qualified: tuple[str, ...]
    labels: tuple[str, ...]

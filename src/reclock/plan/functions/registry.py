"""The registry of functions, and overload resolution by the types of arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reclock.algebra.relations import ScalarType
from reclock.errors import InternalError, UnknownFunction

Types = tuple[ScalarType | None, ...]
"""The types of a call's arguments; None is an untyped string or NULL."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A registered function, the types to which its arguments are cast, and its result type."""

    function: str
    argument_types: tuple[ScalarType, ...]
    result: ScalarType


@dataclass(frozen=True, slots=True)
class Site:
    """One call to write in an engine's SQL.

    ``arguments`` are SQL that can be embedded anywhere, ``types`` their types, ``result`` the type
    of the result. ``constants`` maps the position of an argument that is a literal to its value.
    """

    arguments: tuple[str, ...]
    types: tuple[ScalarType, ...]
    result: ScalarType
    constants: Mapping[int, object] = field(default_factory=dict)
    is_distinct: bool = False
    filter: str = ""
    """For an aggregate: `` FILTER (WHERE …)``, which follows every aggregate call in the SQL."""
    over: str = ""
    """For an aggregate over a window: `` OVER (…)``, which follows ``filter``."""


Writer = Callable[[Site], str]
Written = str | Writer
"""A writer, or a template of SQL: ``{0}``, ``{1}`` are arguments, ``{all}`` is the list of all."""
Resolver = Callable[[Types, Mapping[int, object]], tuple[tuple[ScalarType, ...], ScalarType] | None]


@dataclass(frozen=True, slots=True)
class Function:
    """A function, its types, and how each engine writes it. Every engine returns the same value."""

    name: str
    description: str
    """What it returns, in one line, for the reference page."""
    resolve: Resolver
    writers: Mapping[str, Writer]


SCALARS: dict[str, Function] = {}
AGGREGATES: dict[str, Function] = {}


def writer(template: Written) -> Writer:
    """``template`` as a writer."""
    if callable(template):
        return template
    return lambda site: template.format(*site.arguments, all=", ".join(site.arguments))


def scalar(
    name: str,
    description: str,
    resolve: Resolver,
    both: Written | None = None,
    *,
    duckdb: Written = "",
    spark: Written = "",
) -> None:
    """Register a scalar function. Every engine writes ``both``; without it, each writes its own."""
    writers = {"duckdb": writer(both or duckdb), "spark": writer(both or spark)}
    _add(SCALARS, Function(name, description, resolve, writers))


def aggregate(
    name: str,
    description: str,
    resolve: Resolver,
    both: Written | None = None,
    *,
    duckdb: Written = "",
    spark: Written = "",
) -> None:
    """Register an aggregate function. Its writers handle DISTINCT and FILTER."""
    writers = {"duckdb": writer(both or duckdb), "spark": writer(both or spark)}
    _add(AGGREGATES, Function(name, description, resolve, writers))


def _shown(type: ScalarType | None) -> str:
    return "unknown" if type is None else str(type.unconstrained)


def resolve_scalar(
    name: str,
    argument_types: Sequence[ScalarType | None],
    constants: Mapping[int, object] | None = None,
) -> Resolved:
    """The scalar function ``name`` for these argument types, typed as PostgreSQL does.

    ``constants`` maps the positions of literals to their values: ``round(x, 2)`` then has a type
    with two digits after the point. Raises ``UnknownFunction``.
    """
    return _resolve(SCALARS, name, tuple(argument_types), constants or {})


def resolve_aggregate(name: str, argument_types: Sequence[ScalarType | None]) -> Resolved:
    """The aggregate function ``name`` for these argument types. Raises ``UnknownFunction``."""
    return _resolve(AGGREGATES, name, tuple(argument_types), {})


def write(registry: Mapping[str, Function], name: str, engine: str, site: Site) -> str:
    """The call in the SQL of ``engine``, which is "duckdb" or "spark"."""
    if name not in registry:
        raise InternalError(f'plan calls unregistered function "{name}"')
    return registry[name].writers[engine](site)


def _add(registry: dict[str, Function], function: Function) -> None:
    if function.name in registry:
        raise InternalError(f'function "{function.name}" is registered twice')
    registry[function.name] = function


def _resolve(
    registry: Mapping[str, Function], name: str, types: Types, constants: Mapping[int, object]
) -> Resolved:
    function = registry.get(name)
    types = tuple(type and type.without_domain for type in types)
    signature = function.resolve(types, constants) if function else None
    if signature is None:
        raise UnknownFunction(name, [_shown(type) for type in types])
    return Resolved(name, *signature)

"""The registry of functions, and overload resolution by the types of arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reclock.algebra.relations import ScalarType
from reclock.errors import InternalError, UnknownFunction

Types = tuple[ScalarType | None, ...]
"""Types of arguments as they stand in a statement; None is an untyped string or NULL."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A function of the registry on arguments cast to ``argument_types``; it answers ``result``."""

    function: str
    argument_types: tuple[ScalarType, ...]
    result: ScalarType


@dataclass(frozen=True, slots=True)
class Site:
    """One call as an engine writes it: SQL of each argument (safe to embed anywhere), its type, and the type of the result.

    ``constants`` maps the position of an argument that is a literal to its value.
    """

    arguments: tuple[str, ...]
    types: tuple[ScalarType, ...]
    result: ScalarType
    constants: Mapping[int, object] = field(default_factory=dict)
    is_distinct: bool = False
    filter: str = ""
    """Of an aggregate: `` FILTER (WHERE …)``, to stand behind every aggregate call that is written."""
    over: str = ""
    """Of an aggregate over a window: `` OVER (…)``, to stand behind that."""


Writer = Callable[[Site], str]
Written = str | Writer
"""A writer, or a template of SQL: ``{0}``, ``{1}`` are arguments, ``{all}`` all of them separated by commas."""
Resolver = Callable[[Types, Mapping[int, object]], tuple[tuple[ScalarType, ...], ScalarType] | None]


@dataclass(frozen=True, slots=True)
class Function:
    """A function with the types it takes and how each engine writes it. The same value on every engine is the promise."""

    name: str
    description: str
    """What it returns, in one line, for the reference page."""
    resolve: Resolver
    writers: Mapping[str, Writer]


SCALARS: dict[str, Function] = {}
AGGREGATES: dict[str, Function] = {}


def writer(template: Written) -> Writer:
    """The writer that ``template`` says."""
    if callable(template):
        return template
    return lambda site: template.format(*site.arguments, all=", ".join(site.arguments))


def scalar(
    name: str, description: str, resolve: Resolver, both: Written | None = None, *, duckdb: Written = "", spark: Written = ""
) -> None:
    """Register a scalar function; ``both`` is how every engine writes it, else ``duckdb`` and ``spark`` are."""
    _add(SCALARS, Function(name, description, resolve, {"duckdb": writer(both or duckdb), "spark": writer(both or spark)}))


def aggregate(
    name: str, description: str, resolve: Resolver, both: Written | None = None, *, duckdb: Written = "", spark: Written = ""
) -> None:
    """Register an aggregate function. Its writers handle DISTINCT and FILTER."""
    _add(AGGREGATES, Function(name, description, resolve, {"duckdb": writer(both or duckdb), "spark": writer(both or spark)}))


def resolve_scalar(
    name: str, argument_types: Sequence[ScalarType | None], constants: Mapping[int, object] | None = None
) -> Resolved:
    """The scalar function ``name`` on such arguments, typed as PostgreSQL does. Raises ``UnknownFunction``.

    ``constants`` tells the values of arguments that are literals: ``round(x, 2)`` then has two digits after the point.
    """
    return _resolve(SCALARS, name, tuple(argument_types), constants or {})


def resolve_aggregate(name: str, argument_types: Sequence[ScalarType | None]) -> Resolved:
    """The aggregate function ``name`` on such arguments. Raises ``UnknownFunction``."""
    return _resolve(AGGREGATES, name, tuple(argument_types), {})


def write(registry: Mapping[str, Function], name: str, engine: str, site: Site) -> str:
    """The call as ``engine`` ("duckdb", "spark") reads it."""
    if name not in registry:
        raise InternalError(f'plan calls unregistered function "{name}"')
    return registry[name].writers[engine](site)


def _add(registry: dict[str, Function], function: Function) -> None:
    if function.name in registry:
        raise InternalError(f'function "{function.name}" is registered twice')
    registry[function.name] = function


def _resolve(registry: Mapping[str, Function], name: str, types: Types, constants: Mapping[int, object]) -> Resolved:
    function = registry.get(name)
    signature = function.resolve(types, constants) if function else None
    if signature is None:
        raise UnknownFunction(name, ["unknown" if type is None else str(type) for type in types])
    return Resolved(name, *signature)

"""Functions about the session, which are constants of a statement.

A view is planned once for all sessions, and takes the answers of each session that reads it (see
``session_views``). An index, whose rows all sessions share, cannot depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    ScalarType,
    array,
)
from reclock.algebra.textual.times import normal_form as time_of_day
from reclock.errors import UnknownFunction, UnknownVariable, UnsupportedSql
from reclock.plan.functions import is_implicit
from reclock.plan.scalars import Call, Case, Literal
from reclock.plan.temporal import NOW
from reclock.sql.names import SEARCHED_SYSTEM_SCHEMAS, SERVER_VERSION, SessionNames, nearest
from reclock.sql.queries.planned import Planned, TypedExpr

Answer = Callable[..., Any]


def _schemas(session: SessionNames, with_system: bool) -> tuple[str, ...]:
    path = session.search_path
    system = [name for name in SEARCHED_SYSTEM_SCHEMAS if with_system and name not in path]
    return (*system, *path)


def _setting(session: SessionNames, name: str, is_missing_ok: bool = False) -> str | None:
    settings = session.settings()
    if name.lower() not in settings and not is_missing_ok:
        raise UnknownVariable(name, hint=nearest(name, settings))
    return settings.get(name.lower())


def _local_now(session: SessionNames) -> datetime:
    return session.now().astimezone(ZoneInfo(session.zone)).replace(tzinfo=None)


_FUNCTIONS: dict[str, tuple[tuple[ScalarType, ...], int, ScalarType, Answer]] = {
    # name: types of arguments, how many must be there, type, value
    "version": ((), 0, TEXT, lambda session: f"PostgreSQL {SERVER_VERSION} (Reclock)"),
    "current_database": ((), 0, TEXT, lambda session: session.database),
    "current_catalog": ((), 0, TEXT, lambda session: session.database),
    "current_schema": ((), 0, TEXT, lambda session: next(iter(session.search_path), None)),
    "current_schemas": ((BOOLEAN,), 1, array(TEXT), _schemas),
    "current_setting": ((TEXT, BOOLEAN), 1, TEXT, _setting),
    "current_user": ((), 0, TEXT, lambda session: session.current_user),
    "current_role": ((), 0, TEXT, lambda session: session.current_user),
    "session_user": ((), 0, TEXT, lambda session: session.session_user),
    "mz_legacy_installation_id": ((), 0, TEXT, lambda session: session.installation_id),
    **dict.fromkeys(
        ("now", "current_timestamp"), ((), 0, TIMESTAMPTZ, lambda session: session.now())
    ),
    "clock_timestamp": ((), 0, TIMESTAMPTZ, lambda session: session.clock()),
    "localtime": ((), 0, TIME, lambda session: time_of_day(str(_local_now(session).time()))),
    "localtimestamp": ((), 0, TIMESTAMP, _local_now),
    "current_date": ((), 0, DATE, lambda session: _local_now(session).date()),
    **dict.fromkeys(
        ("pg_postmaster_start_time", "pg_conf_load_time"),
        ((), 0, TIMESTAMPTZ, lambda session: session.started_at),
    ),
    "pg_backend_pid": ((), 0, INTEGER, lambda session: session.process_id()),
}


LOCAL_TIMES = frozenset({"current_date", "localtime", "localtimestamp"})
"""Functions of the moment and the time zone."""


def is_about_session(name: str) -> bool:
    return name in _FUNCTIONS or name in VOLATILE_FUNCTIONS


def is_moment(name: str) -> bool:
    """Whether the function about the session returns a date or timestamp."""
    return name in _FUNCTIONS and _FUNCTIONS[name][2] in (TIMESTAMPTZ, TIMESTAMP, DATE)


def signature(name: str, arguments: Sequence[Planned]) -> tuple[tuple[ScalarType, ...], ScalarType]:
    """The types of the arguments and of the result. Raises ``UnknownFunction``."""
    types, required, result = (
        ((), 0, VOLATILE_FUNCTIONS[name]) if name in VOLATILE_FUNCTIONS else _FUNCTIONS[name][:3]
    )
    argument_types = [argument.type for argument in arguments]
    if not required <= len(argument_types) <= len(types) or not all(
        type is None or is_implicit(type, target)
        for type, target in zip(argument_types, types, strict=False)
    ):
        raise UnknownFunction(
            name, ["unknown" if type is None else str(type) for type in argument_types]
        )
    return types[: len(arguments)], result


VOLATILE_FUNCTIONS = {"gen_random_uuid": UUID, "random": DOUBLE, NOW: BIGINT}
"""Functions without arguments that are computed when a plan is: of random values for each row, and
the time of the plan."""


SEQUENCE_FUNCTIONS = frozenset({"nextval", "currval", "lastval", "setval"})
"""Functions that the session calls for each row that it returns or writes."""


def answered(call: Call[TypedExpr], session: SessionNames) -> TypedExpr:
    """The value of ``call`` in this session: a constant, or, for a setting named by a row, a choice
    among all settings."""
    if not all(isinstance(argument, Literal) for argument in call.arguments):
        if call.function != "current_setting":
            raise UnsupportedSql(f"{call.function} of what is no constant is not supported")
        name, settings = call.arguments[0], sorted(session.settings().items())
        branches = tuple(
            (Call("=", (name, Literal(label, TEXT)), BOOLEAN), Literal(value, TEXT))
            for label, value in settings
        )
        return Case(branches, Literal(None, TEXT), TEXT) if branches else Literal(None, TEXT)
    if call.function in VOLATILE_FUNCTIONS:
        return call
    values = [argument.value for argument in call.arguments if isinstance(argument, Literal)]
    return Literal(
        None if None in values else _FUNCTIONS[call.function][3](session, *values), call.type
    )

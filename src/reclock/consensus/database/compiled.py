"""Statements that are executed many times a second: compiled once, and executed by the driver
alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

Parameters = Mapping[str, object]


class DriverCursor(Protocol):
    """What both drivers return for an executed statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchall(self) -> list[tuple[Any, ...]]: ...


@dataclass(frozen=True, slots=True)
class _Text:
    """A statement as the driver takes it, for lists of certain lengths."""

    text: str
    constants: Mapping[str, object]
    expansions: Mapping[str, Sequence[str]]
    """The names of a list's values in the text."""

    def bound(self, parameters: Parameters) -> dict[str, object]:
        values = {**self.constants, **parameters}
        for name, expanded in self.expansions.items():
            values.update(zip(expanded, values.pop(name), strict=True))  # type: ignore[call-overload]
        return values


class CompiledStatement:
    """A statement with parameters of integers, texts, bytes, and lists of these.

    It is executed in a transaction of SQLAlchemy, with the errors of SQLAlchemy, but not by it: the
    work of SQLAlchemy for an execution costs ten times as much as a small statement. Its rows are
    plain tuples.
    """

    def __init__(self, statement: sa.Executable) -> None:
        self._statement = statement
        self._texts: dict[tuple[str, tuple[int, ...]], _Text] = {}

    def rows(
        self, connection: sa.Connection, parameters: Parameters | None = None
    ) -> list[tuple[Any, ...]]:
        """The rows that the statement returns."""
        return self._execute(connection, parameters or {}).fetchall()

    def change(self, connection: sa.Connection, parameters: Parameters | None = None) -> int:
        """Execute a statement that returns no rows. Returns how many rows it changed."""
        return self._execute(connection, parameters or {}).rowcount

    def _execute(self, connection: sa.Connection, parameters: Parameters) -> DriverCursor:
        return execute_text(connection, *self.bound(connection.dialect, parameters))

    def bound(self, dialect: sa.Dialect, parameters: Parameters) -> tuple[str, Parameters]:
        """The text and the parameters as the driver takes them."""
        text = self._text(dialect, parameters)
        return text.text, text.bound(parameters)

    def _text(self, dialect: sa.Dialect, parameters: Parameters) -> _Text:
        lengths = tuple(len(value) for value in parameters.values() if isinstance(value, list))
        key = dialect.name, lengths
        if (text := self._texts.get(key)) is None:
            text = self._texts[key] = _compiled(self._statement, dialect, parameters)
        return text


def execute_text(
    connection: sa.Connection, text: str, parameters: Parameters | None = None
) -> DriverCursor:
    """Execute a text of the driver's dialect in the open transaction. Returns the driver's cursor.
    Raises errors as SQLAlchemy does."""
    try:
        return send(connection.connection.driver_connection, text, parameters)
    except connection.dialect.loaded_dbapi.Error as error:
        raise _wrapped(error, connection, text) from error


def send(driver: Any, text: str, parameters: Parameters | None) -> DriverCursor:
    """Execute a text on a connection of the driver. Raises the driver's errors."""
    cursor: DriverCursor
    cursor = driver.execute(text, parameters) if parameters else driver.execute(text)
    return cursor


def _wrapped(error: Exception, connection: sa.Connection, text: str) -> Exception:
    dialect = connection.dialect
    is_disconnected = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)  # type: ignore[arg-type]
    if is_disconnected:
        connection.invalidate(error)
    return sa.exc.DBAPIError.instance(
        text,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=is_disconnected,
        dialect=dialect,
    )


def _compiled(statement: sa.Executable, dialect: sa.Dialect, parameters: Parameters) -> _Text:
    new: Callable[..., sa.Dialect] = type(dialect)
    named = new(paramstyle="named") if dialect.positional else dialect
    compiled = statement.compile(dialect=named)  # type: ignore[attr-defined]
    state = compiled.construct_expanded_state({**compiled.params, **parameters})
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    return _Text(state.statement, constants, state.parameter_expansion)

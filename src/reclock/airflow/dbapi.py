"""A client as a connection of Python's DB-API (PEP 249), which Airflow's SQL operators use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reclock.client.client import Client
from reclock.client.query_result import QueryResult
from reclock.errors import InvalidOption

paramstyle = "pyformat"

Parameters = Sequence[Any] | Mapping[str, Any] | None

_PLACEHOLDER = re.compile(r"%(?:\((?P<name>[^)]*)\))?(?P<conversion>.?)", re.DOTALL)


class DbApiConnection:
    """Executes statements through ``client``, which it closes.

    Unless ``autocommit``, the first statement begins a transaction, and ``commit`` or ``rollback``
    ends it. Closing rolls back.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.autocommit = False
        self._is_in_transaction = False

    def cursor(self) -> DbApiCursor:
        return DbApiCursor(self)

    def commit(self) -> None:
        self._end("COMMIT")

    def rollback(self) -> None:
        self._end("ROLLBACK")

    def close(self) -> None:
        self.client.close()

    def execute(self, text: str, values: list[Any]) -> QueryResult:
        """The result of the statement with ``values`` for ``$1``, ``$2``, …, in the transaction."""
        if not self.autocommit and not self._is_in_transaction:
            self.client.sql("BEGIN")
            self._is_in_transaction = True
        return self.client.sql(text, values)

    def _end(self, statement: str) -> None:
        if self._is_in_transaction:
            self._is_in_transaction = False
            self.client.sql(statement)


class DbApiCursor:
    """The rows of the last statement, in memory."""

    arraysize = 1

    def __init__(self, connection: DbApiConnection) -> None:
        self.connection = connection
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self._rows: Iterator[tuple[Any, ...]] = iter(())

    def execute(self, sql: str, parameters: Parameters = None) -> DbApiCursor:
        """Execute the statement with values for ``%s``, or for ``%(name)s`` from a mapping.

        Without ``parameters``, ``%`` stands for itself, and ``sql`` may have several statements.
        """
        text, values = (sql, []) if parameters is None else numbered(sql, parameters)
        result = self.connection.execute(text, values)
        rows = result.rows()
        schema = result.arrow().schema
        self.description = [(field.name, str(field.type), *[None] * 5) for field in schema] or None
        self.rowcount = len(rows) if self.description else _affected_rows(result.tag)
        self._rows = iter(rows)
        return self

    def executemany(self, sql: str, parameter_sets: Sequence[Parameters]) -> None:
        for parameters in parameter_sets:
            self.execute(sql, parameters)

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        return [row for row, _ in zip(self._rows, range(size or self.arraysize), strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)

    def close(self) -> None:
        self._rows = iter(())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows


def numbered(sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The statement with ``$1``, ``$2``, … for its placeholders, and their values in order.

    ``%%`` becomes ``%``. Raises ``InvalidOption`` if the placeholders and ``parameters`` differ.
    """
    names: list[str | None] = []

    def replacement(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        is_named = match["name"] is not None
        if match["conversion"] != "s" or is_named != isinstance(parameters, Mapping):
            expected = "%(name)s" if isinstance(parameters, Mapping) else "%s"
            hint = f"write {expected} for a parameter, and %% for a percent sign"
            raise InvalidOption(f'"{match[0]}" is not a placeholder', hint=hint)
        names.append(match["name"])
        return f"${len(names)}"

    text = _PLACEHOLDER.sub(replacement, sql)
    if isinstance(parameters, Mapping):
        if missing := [name for name in names if name not in parameters]:
            raise InvalidOption(f'there is no parameter "{missing[0]}"')
        return text, [parameters[name] for name in names if name is not None]
    if len(names) != len(parameters):
        supplied = f"{len(parameters)} parameters were supplied"
        raise InvalidOption(f"the statement has {len(names)} placeholders, but {supplied}")
    return text, list(parameters)


def _affected_rows(tag: str) -> int:
    """The number at the end of a command tag such as ``INSERT 0 3``, or -1."""
    last = tag.rpartition(" ")[2]
    return int(last) if last.isdigit() else -1

"""The in-memory database of a DuckDB engine, opened at its first use, and reopened after a fatal
error."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import duckdb
import pyarrow as pa
from duckdb.func import ARROW, SPECIAL

from reclock.compute.engines.failures import failure
from reclock.compute.engines.spill import SpillFolder
from reclock.compute.expressions.json_functions import JSON_FUNCTIONS
from reclock.errors import NestedTooDeeply, OutOfMemory, QueryCanceled, ReclockError
from reclock.plan.functions.arithmetic import DUCKDB_MACROS
from reclock.plan.functions.sql_names import string

NAME = "duckdb"
_AGAIN_S = 0.01
_RAISE_ERROR = "CREATE MACRO raise_error(message) AS error(message)"  # as Spark calls it
_FATAL = re.compile(r"(\w+: )?(INTERNAL|FATAL) Error")
_INVALIDATED = "database has been invalidated"
_DATA_ERRORS = (
    duckdb.OutOfRangeException,
    duckdb.ConversionException,
    duckdb.InvalidInputException,
    duckdb.SyntaxException,
)
_OF_PYTHON = re.compile(
    r"Python exception occurred|^Invalid Input Error: (reading|counting|exporting|offering) .* failed:"
)
"""What DuckDB says of an exception in a Python function or reader that it calls, such as an
interruption of the process. It has the class of errors of data."""


@dataclass(frozen=True, slots=True, eq=False)
class DuckDbDatabase:
    """An open database, in the process that opened it: after a fork, an inherited one has no
    threads."""

    connection: duckdb.DuckDBPyConnection
    folder: SpillFolder
    process_id: int = field(default_factory=os.getpid)
    sessions: WeakSet[duckdb.DuckDBPyConnection] = field(default_factory=WeakSet)

    def session(self) -> duckdb.DuckDBPyConnection:
        session = self.connection.cursor()
        self.sessions.add(session)
        return session

    def close(self) -> None:
        """Close the database. Running statements are interrupted."""
        while not self.is_closed():
            for session in list(self.sessions):
                interrupt(session)
            time.sleep(_AGAIN_S)

    def is_closed(self) -> bool:
        """Close it with all its sessions, and remove its spilled files, unless a session is
        executing a statement."""
        try:
            self.connection.close()
        except duckdb.ResourceInUseException:
            return False
        except duckdb.Error:  # a broken database closes as far as it can
            pass
        self.folder.close()
        return True


class Databases:
    """The database for new statements. Thread-safe."""

    def __init__(self, opened: Callable[[], DuckDbDatabase]) -> None:
        self._opened = opened
        self._lock = threading.Lock()
        self._current: DuckDbDatabase | None = None
        self._broken: list[DuckDbDatabase] = []

    def current(self) -> DuckDbDatabase:
        with self._lock:
            self._broken = [database for database in self._broken if not database.is_closed()]
            if self._current is None or self._current.process_id != os.getpid():
                self._current = self._opened()
            return self._current

    def discard(self, database: DuckDbDatabase) -> None:
        """Replace ``database``, which has reported a fatal error and executes nothing more. The
        next statement opens another one."""
        with self._lock:
            if self._current is database:
                self._current = None
                self._broken.append(database)

    def close(self) -> None:
        with self._lock:
            for database in (
                *self._broken,
                *([self._current] if self._current is not None else []),
            ):
                if database.process_id == os.getpid():
                    database.close()
            self._current, self._broken = None, []


def open_database(
    roots: Sequence[str], *, memory_limit: str, threads: int, spill: Path, spill_limit: str
) -> DuckDbDatabase:
    """Open a database that reads only files below ``roots``, loads no extension and opens no
    connection. Its statements cannot change that."""
    folder = SpillFolder(spill)
    config: dict[str, str | bool | int | float | list[str]] = {
        "allow_community_extensions": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "memory_limit": memory_limit,
        "temp_directory": str(folder.path / "duckdb"),
    }
    if threads:
        config["threads"] = threads
    connection = duckdb.connect(":memory:", config=config)
    # DuckDB does not observe this limit if it comes with the others
    limit = string(NAME, _size_on_disk(spill_limit, folder.path))
    connection.execute(f"SET GLOBAL max_temp_directory_size = {limit}")
    for macro in (*DUCKDB_MACROS, _RAISE_ERROR):
        connection.execute(macro)
    _add_json_functions(connection)
    local = ", ".join(
        string(NAME, os.path.abspath(root) + "/") for root in roots if "://" not in root
    )
    connection.execute(f"SET GLOBAL TimeZone = 'UTC'; SET GLOBAL allowed_directories = [{local}]")
    connection.execute(
        "SET GLOBAL enable_external_access = false; SET GLOBAL lock_configuration = true"
    )
    return DuckDbDatabase(connection, folder)


def _size_on_disk(limit: str, folder: Path) -> str:
    """``limit`` as DuckDB reads it, which knows no share of what is free."""
    if not limit.endswith("%"):
        return limit
    return f"{shutil.disk_usage(folder).free * int(limit[:-1]) // 100}B"


def _add_json_functions(connection: duckdb.DuckDBPyConnection) -> None:
    types = _json_types()
    for name, function in JSON_FUNCTIONS.items():
        parameters = [types[parameter] for parameter in function.parameters]
        run, result = function.of_columns(), types[function.result]
        connection.create_function(name, run, parameters, result, type=ARROW, null_handling=SPECIAL)


@cache
def _json_types() -> dict[pa.DataType, Any]:
    """DuckDB's types. Parsing their names for each function took half of the time of adding it."""
    names = {
        pa.string(): "VARCHAR",
        pa.int32(): "INTEGER",
        pa.float64(): "DOUBLE",
        pa.bool_(): "BOOLEAN",
        pa.list_(pa.string()): "VARCHAR[]",
    }
    return {type: duckdb.dtype(name) for type, name in names.items()}


def interrupt(session: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.ConnectionException):  # closed: it has ended
        session.interrupt()


def breaks_database(error: BaseException) -> bool:
    """Whether the database that raised ``error`` executes nothing more."""
    return isinstance(error, duckdb.InternalException | duckdb.FatalException) or bool(
        _FATAL.match(str(error))
    )


def is_of_another(error: BaseException) -> bool:
    """Whether the statement failed because of another statement's fatal error."""
    return breaks_database(error) and _INVALIDATED in str(error)


def failure_of(error: BaseException) -> ReclockError:
    """The error to raise for one of a statement."""
    text = str(error)
    if isinstance(error, duckdb.InterruptException) or "INTERRUPT Error" in text:
        return QueryCanceled()
    if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory Error" in text:
        return OutOfMemory(detail=text.splitlines()[0])
    if "Max expression depth limit" in text:
        return NestedTooDeeply()
    is_of_data = isinstance(error, _DATA_ERRORS) or not isinstance(error, duckdb.Error)
    return failure(error, text, is_of_data=is_of_data and not _OF_PYTHON.search(text))

"""DuckDB, in this process and in memory: what is small enough to need no Spark job."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

import duckdb
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_schema
from reclock.compute import delta, rendering
from reclock.compute.engines.engine import Answer, CollectionInput, Inputs, SoFar, by_rules, fitted, result_schema
from reclock.compute.engines.failures import failure
from reclock.compute.engines.spill import SpillFolder
from reclock.compute.functions.arithmetic import DUCKDB_MACROS
from reclock.compute.functions.spelling import string
from reclock.compute.operators.rules import Relation
from reclock.compute.plan import Finishing, Plan
from reclock.errors import OutOfMemory, QueryCanceled, ReclockError

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

NAME = "duckdb"
_DATA_ERRORS = (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException, duckdb.SyntaxException)
BATCH_ROWS = 1 << 16
_AGAIN_S = 0.01
_RAISE_ERROR = "CREATE MACRO raise_error(message) AS error(message)"  # as Spark calls it


class DuckDbEngine:
    """Runs plans on this machine, all statements together in ``memory_limit`` (such as ``2GB``, or ``50%`` of what the machine has)
    and by ``threads`` (0 is one a core). What does not fit is spilled to a folder below ``spill`` that goes with the process.

    Its database reads no file but those below ``roots``, loads no extension and opens no connection; that cannot be changed by what
    it runs. Files of an object store come through the collection's own file system. Safe for several threads.
    """

    name = NAME

    def __init__(
        self, roots: Sequence[str] = (), *, memory_limit: str = "50%", threads: int = 0, spill: str | Path | None = None
    ) -> None:
        self._roots, self._memory_limit, self._threads = tuple(roots), memory_limit, threads
        self._spill = Path(spill) if spill is not None else Path(tempfile.gettempdir(), "reclock-spill")
        self._lock = threading.Lock()
        self._database: tuple[int, duckdb.DuckDBPyConnection, SpillFolder] | None = None
        self._sessions: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()

    def close(self) -> None:
        """Statements that still run are interrupted. What it has spilled is removed; a later statement opens it again."""
        with self._lock:
            if self._database is not None and self._database[0] == os.getpid():
                _, connection, folder = self._database
                while not _is_closed(connection):
                    for session in list(self._sessions):
                        _interrupt(session)
                    time.sleep(_AGAIN_S)
                folder.close()
            self._database = None

    def run(self, plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp) -> Answer:
        session = self._connect()
        relations = _bind(session, inputs, as_of)
        sql = rendering.select(plan, finishing, NAME, relations, as_of)
        return _answer(session, sql, rendering.visible(plan.desc, finishing))

    def difference(self, plan: Plan, desc: RelationDesc, inputs: Inputs, as_of: Timestamp, result_so_far: SoFar) -> Answer:
        session = self._connect()
        relations = _bind(session, inputs, as_of)
        session.register("added", result_so_far.added)
        parts = [(Relation("added", is_counted=True), MAXIMUM)]
        if result_so_far.version is not None:
            own = _updates(session, "own", CollectionInput(result_so_far.version), result_so_far.through)
            parts.append((Relation(own, is_counted=True), result_so_far.through))
        sql = rendering.difference(plan, desc, NAME, relations, as_of, parts)
        return _answer(session, sql, desc.columns, with_diff=True)

    def changes(
        self, plan: Plan, desc: RelationDesc, inputs: Inputs, before: Timestamp, as_of: Timestamp, result_so_far: SoFar
    ) -> Answer:
        session = self._connect()
        relations = _bind(session, inputs, as_of)
        changed = _changed(session, inputs, before, as_of)
        if result_so_far.version is None:
            session.register("result", result_so_far.added)
            relations[str(delta.RESULT)] = Relation("result", is_counted=True)
        else:
            result = CollectionInput(result_so_far.version, result_so_far.added)
            read = _updates(session, "result", result, result_so_far.through)
            relations[str(delta.RESULT)] = Relation(read, is_counted=True)
        sql = delta.render(plan, desc, NAME, delta.Inputs(relations, changed, before, as_of))
        return _answer(session, sql, desc.columns, with_diff=True)

    def compare(self, plan: Plan, inputs: Inputs, as_of: Timestamp, after: Timestamp | None, earlier: Inputs) -> Answer:
        session = self._connect()
        relations = _bind(session, inputs, as_of)
        if after is not None and by_rules(plan, inputs, after):
            step = delta.Inputs(relations, _changed(session, inputs, after, as_of), after, as_of)
            return _answer(session, delta.render(plan, None, NAME, step), plan.desc.columns, with_diff=True)
        before = None if after is None else (relations | _bind(session, earlier, after, prefix="earlier"), after)
        return _answer(session, rendering.comparison(plan, NAME, (relations, as_of), before), plan.desc.columns, with_diff=True)

    def query(
        self, sql: str, columns: tuple[Column, ...], inputs: Mapping[str, CollectionInput | Dataset | pa.Table], as_of: Timestamp
    ) -> Answer:
        """``sql`` over inputs by name, of collections the updates at times up to ``as_of``; it gives ``columns`` and diffs."""
        session = self._connect()
        for name, given in inputs.items():
            if isinstance(given, CollectionInput):
                read = _updates(session, f"{name}_files", given, as_of)
                session.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM {read} WHERE {TIME_COLUMN} <= {as_of:d}")
            else:
                session.register(name, given)
        return _answer(session, sql, columns, with_diff=True)

    def _connect(self) -> duckdb.DuckDBPyConnection:
        """A session of this process's own database: one inherited by a fork has lost its threads."""
        with self._lock:
            if self._database is None or self._database[0] != os.getpid():
                folder = SpillFolder(self._spill)
                self._database = (os.getpid(), self._open(folder), folder)
            session = self._database[1].cursor()
            self._sessions.add(session)
            return session

    def _open(self, folder: SpillFolder) -> duckdb.DuckDBPyConnection:
        config: dict[str, str | bool | int | float | list[str]] = {
            "allow_community_extensions": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "memory_limit": self._memory_limit,
            "temp_directory": str(folder.path / "duckdb"),
        }
        if self._threads:
            config["threads"] = self._threads
        connection = duckdb.connect(":memory:", config=config)
        for macro in (*DUCKDB_MACROS, _RAISE_ERROR):
            connection.execute(macro)
        local = ", ".join(string(NAME, os.path.abspath(root) + "/") for root in self._roots if "://" not in root)
        connection.execute(f"SET GLOBAL TimeZone = 'UTC'; SET GLOBAL allowed_directories = [{local}]")
        connection.execute("SET GLOBAL enable_external_access = false; SET GLOBAL lock_configuration = true")
        return connection


def _bind(session: duckdb.DuckDBPyConnection, inputs: Inputs, as_of: Timestamp, *, prefix: str = "input") -> dict[str, Relation]:
    """Every input under a name of the session."""
    relations = {}
    for number, (id, given) in enumerate(inputs.items()):
        name = f"{prefix}{number}"
        if isinstance(given, CollectionInput):
            name = _updates(session, name, given, as_of)
        else:
            session.register(name, given.table)
        relations[str(id)] = given.relation(name, as_of)
    return relations


def _changed(session: duckdb.DuckDBPyConnection, inputs: Inputs, before: Timestamp, as_of: Timestamp) -> dict[str, Relation]:
    """The updates between the two times of every input that has some, under names of the session."""
    return {
        str(id): given.relation(_updates(session, f"changed{number}", given, as_of, after=before), as_of, after=before)
        for number, (id, given) in enumerate(inputs.items())
        if isinstance(given, CollectionInput) and given.may_change(before, as_of)
    }


def _updates(
    session: duckdb.DuckDBPyConnection, name: str, given: CollectionInput, as_of: Timestamp, *, after: Timestamp | None = None
) -> str:
    """What is read: updates at times (``after`` one) up to ``as_of``, perhaps others, and the tail; in place if local files."""
    parts = []
    version, tail, files = given.version, given.tail, given.files(as_of, after=after)
    if files and version.folder.is_local:
        parts.append(_parquet(files))
    elif files:
        session.register(name, version.dataset(files))
        parts.append(name)
    if (tail is not None and tail.num_rows) or not files:
        session.register(f"{name}_tail", arrow_schema(version.desc, with_updates=True).empty_table() if tail is None else tail)
        parts.append(f"{name}_tail")
    return parts[0] if len(parts) == 1 else f"({' UNION ALL BY NAME '.join(f'SELECT * FROM {part}' for part in parts)})"


def _parquet(files: Sequence[DataFile]) -> str:
    return f"read_parquet([{', '.join(string(NAME, file.uri) for file in files)}])"


def _answer(session: duckdb.DuckDBPyConnection, sql: str, columns: tuple[Column, ...], *, with_diff: bool = False) -> Answer:
    schema = result_schema(columns)
    if with_diff:
        schema = schema.append(pa.field(DIFF_COLUMN, pa.int64(), nullable=False))

    def batches() -> Iterator[pa.RecordBatch]:
        # From here on, not before: what computes until its first batch can then be interrupted too.
        try:
            with session.sql(sql).to_arrow_reader(BATCH_ROWS) as reader:
                for batch in reader:
                    yield fitted(batch, schema)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _failure(error) from error
        finally:
            session.close()

    return Answer(NAME, columns, pa.RecordBatchReader.from_batches(schema, batches()), partial(_interrupt, session))


def _is_closed(connection: duckdb.DuckDBPyConnection) -> bool:
    """Closed with all its sessions, unless one of them is in the middle of a statement."""
    with suppress(duckdb.ResourceInUseException):
        connection.close()
        return True
    return False


def _interrupt(session: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.ConnectionException):  # closed: it has ended
        session.interrupt()


def _failure(error: BaseException) -> ReclockError:
    text = str(error)
    if isinstance(error, duckdb.InterruptException) or "INTERRUPT Error" in text:
        return QueryCanceled()
    if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory Error" in text:
        return OutOfMemory(detail=text.splitlines()[0])
    return failure(error, text, is_of_data=isinstance(error, _DATA_ERRORS) or not isinstance(error, duckdb.Error))

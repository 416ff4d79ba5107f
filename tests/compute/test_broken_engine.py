"""An engine that reports a fatal error is thrown away: the statement that met it fails alone,
others go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from reclock.algebra.relations import INTEGER, TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines import database as databases
from reclock.compute.engines import duckdb as engines
from reclock.compute.engines.database import DuckDbDatabase
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import Answer
from reclock.errors import InternalError
from reclock.plan.relational import Constant, Finishing

AT = Timestamp(1)
POISON = "statement that breaks its database"


class BreakableConnection:
    """A connection of DuckDB that behaves after `POISON` as DuckDB does after an internal error:
    nothing works on it any more."""

    def __init__(self, real: Any, state: dict[str, bool]) -> None:
        self._real, self._state = real, state

    def cursor(self) -> BreakableConnection:
        self._check()
        return BreakableConnection(self._real.cursor(), self._state)

    def sql(self, text: str) -> Any:
        self._check()
        if POISON in text:
            self._state["broken"] = True
            raise duckdb.InternalException(
                "INTERNAL Error: Attempted to access index 0 within vector of size 0"
            )
        return self._real.sql(text)

    def register(self, *arguments: Any) -> None:
        self._check()
        self._real.register(*arguments)

    def interrupt(self) -> None:
        self._real.interrupt()

    def close(self) -> None:
        self._real.close()
        self._check()

    def _check(self) -> None:
        if self._state["broken"]:
            raise duckdb.FatalException(
                "FATAL Error: Failed: database has been invalidated because of a "
                "previous fatal error. The database must be"
                " restarted prior to being used again."
            )


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[DuckDbDatabase]:
    """The databases that engines have opened, which can be broken."""
    opened_databases: list[DuckDbDatabase] = []

    def open_database(*arguments: Any, **options: Any) -> DuckDbDatabase:
        real = databases.open_database(*arguments, **options)
        connection: Any = BreakableConnection(real.connection, {"broken": False})
        opened_databases.append(DuckDbDatabase(connection, real.folder))
        return opened_databases[-1]

    monkeypatch.setattr(engines, "open_database", open_database)
    return opened_databases


def ask(engine: DuckDbEngine, text: str) -> Answer:
    desc = RelationDesc((Column("n", INTEGER), Column("s", TEXT)))
    return engine.run(Constant(((1, text),), desc), Finishing(), {}, AT)


def rows(answer: Answer) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in answer.batches for row in batch.to_pylist()]


def test_a_statement_that_breaks_the_engine_fails_alone(
    opened: list[DuckDbDatabase], tmp_path: Path
) -> None:
    engine = DuckDbEngine(spill=tmp_path)
    assert rows(ask(engine, "before")) == [(1, "before")]
    with pytest.raises(InternalError) as failed:
        rows(ask(engine, POISON))
    assert failed.value.sqlstate == "XX000"
    assert "INTERNAL Error" in (failed.value.detail or "")
    assert rows(ask(engine, "after")) == [(1, "after")]
    assert len(opened) == 2
    assert len(list(tmp_path.iterdir())) == 1  # what the first one spilled is gone
    engine.close()
    assert not list(tmp_path.iterdir())


def test_others_that_have_answered_nothing_yet_begin_again_on_a_new_engine(
    opened: list[DuckDbDatabase], tmp_path: Path
) -> None:
    engine = DuckDbEngine(spill=tmp_path)
    waiting = ask(engine, "waiting")
    with pytest.raises(InternalError):
        rows(ask(engine, POISON))
    assert rows(waiting) == [(1, "waiting")]
    assert len(opened) == 2


def test_an_engine_that_breaks_again_and_again_is_made_anew_each_time(
    opened: list[DuckDbDatabase], tmp_path: Path
) -> None:
    engine = DuckDbEngine(spill=tmp_path)
    for number in range(3):
        with pytest.raises(InternalError):
            rows(ask(engine, POISON))
        assert rows(ask(engine, str(number))) == [(1, str(number))]
    assert len(opened) == 4


def test_text_that_only_looks_like_a_fatal_error_breaks_nothing(
    opened: list[DuckDbDatabase], tmp_path: Path
) -> None:
    engine = DuckDbEngine(spill=tmp_path)
    text = "INTERNAL Error: database has been invalidated"
    assert rows(ask(engine, text)) == [(1, text)]
    assert not databases.breaks_database(
        duckdb.ConversionException(f"Conversion Error: Could not convert string '{text}' to INT32")
    )
    assert len(opened) == 1

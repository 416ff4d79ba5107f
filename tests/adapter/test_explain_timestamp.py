"""EXPLAIN TIMESTAMP names all that another engine needs for the same answer: of each input a Delta
table and its version."""

from collections import Counter
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from reclock.adapter.session.session import Session
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.runtime.environment import Environment


def run(session: Session, text: str) -> list[tuple[Any, ...]]:
    """The rows of the last statement."""
    return [list(result.rows()) for result in session.execute(text)][-1]


def test_another_engine_reproduces_a_read_from_what_is_named(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        ada, bob = Session(environment), Session(environment)
        run(
            bob,
            (
                "CREATE TABLE a (id int, n int); CREATE TABLE b (id int, n int); INSERT INTO "
                "a VALUES (1, 10), (2, 20), (2, 20)"
            ),
        )
        run(
            bob,
            (
                "UPDATE a SET n = n + 1 WHERE id = 1; INSERT INTO b SELECT * FROM a; DELETE "
                "FROM b WHERE id = 2"
            ),
        )
        environment.stores.tables.apply()
        lines = [
            line
            for (line,) in run(
                ada, "EXPLAIN TIMESTAMP FOR SELECT a.id, a.n, b.n FROM a JOIN b ON a.id = b.id"
            )
        ]
        at = int(lines[0].removeprefix("query timestamp: "))
        run(
            bob,
            "INSERT INTO a VALUES (9, 9); INSERT INTO b VALUES (9, 9); DELETE FROM a WHERE id = 1",
        )
        environment.stores.tables.apply()
        read = {}
        for name, place in zip(
            (line for line in lines if line.startswith("input ")),
            (line for line in lines if "table: " in line),
            strict=True,
        ):
            uri, version = place.removeprefix("  table: ").split(", version: ")
            updates = DeltaTable(uri, version=int(version)).to_pyarrow_table(
                filters=[(TIME_COLUMN, "<=", at)]
            )
            summed: Counter[tuple[object, ...]] = Counter()
            for row in updates.to_pylist():
                summed[row["id"], row["n"]] += row[DIFF_COLUMN]
            read[name.split()[1].rpartition(".")[2]] = sorted(summed.elements())
        for table in ("a", "b"):
            assert read[table] == sorted(run(ada, f"SELECT * FROM {table} AS OF {at}"))
        assert read["b"] == [(1, 11)]

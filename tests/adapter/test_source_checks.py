"""CHECK constraints of sources: kept with the definition, and evaluated on every row that a step
inserts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, DOUBLE, Column, RelationDesc
from reclock.errors import InvalidConstraint, SqlSyntaxError, UnsupportedSql
from reclock.pipeline import tick
from reclock.pipeline.row_checks import StagedRows
from reclock.quality.suites import ROWS_LIMIT
from reclock.runtime.environment import Environment
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.statements.sources.checks import source_check
from reclock.sql.syntax.parse import parse_one

OBJECTS = "FROM S3 DISCOVER OBJECTS MATCHING 't/**' USING BUCKET SCAN 'lake' FORMAT"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "buckets" / "lake" / "t"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def environment(tmp_path: Path, lake: Path) -> Iterator[Environment]:
    with Environment.initialise(tmp_path / "home") as opened:
        yield opened


def rows(environment: Environment, text: str) -> list[tuple[Any, ...]]:
    *_, result = Session(environment).execute(text)
    return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]


def failure(environment: Environment) -> str | None:
    """The detail of the error that stalls the only source."""
    failed = tick.run(environment, owner="test").failed
    return failed[0].detail if failed else None


def test_every_row_of_a_large_step_is_checked_after_a_restart(
    environment: Environment, lake: Path, tmp_path: Path
) -> None:
    count = ROWS_LIMIT + 50_000
    (lake / "many.csv").write_text("\n".join(map(str, range(count))) + "\n")
    rows(environment, f"CREATE SOURCE many (n integer CHECK (n < {count - 2})) {OBJECTS} CSV")
    environment.close()
    with Environment.open(tmp_path / "home") as again:
        detail = failure(again)
        assert detail is not None
        assert detail.startswith(
            f"many_n_check: 2 of {count} rows violate CHECK (n < {count - 2}), such as ({count - 2})"
        )
        rows(again, "ALTER SOURCE many WAIVE 'many_n_check'")
        assert failure(again) is None
        assert rows(again, "SELECT count(*) FROM many") == [(count,)]


@pytest.mark.parametrize("format", ["CSV WITH HEADER", "JSON", "PARQUET"])
def test_the_hint_gives_up_exactly_the_rows_that_violate_a_check(
    environment: Environment, lake: Path, format: str
) -> None:
    """Also after header, empty lines, quoted newlines and skipped records, in several objects."""
    bad = {1, 2, 7}
    for key in ("a", "b"):
        path = lake / key
        numbers = [1000 + n if n in bad else n for n in range(10)]
        if format == "PARQUET":
            table = pa.table({"n": numbers, "w": ["x"] * 10})
            pq.write_table(table, path, row_group_size=4)
        elif format == "JSON":
            path.write_text("\n \n".join(f'{{"n":{n},"w":"x"}}' for n in numbers) + "\n")
        else:
            lines = "\n\r\n".join(f'"x\ny",{n}' for n in numbers)
            path.write_text(f"w,n\n{lines}\n", newline="")
    rows(
        environment,
        f"CREATE SOURCE s (n integer CONSTRAINT small CHECK (n < 1000), w text) {OBJECTS} {format}",
    )
    [stalled] = tick.run(environment, owner="test").failed
    assert str(stalled.detail).startswith("small: 6 of 20 rows violate CHECK (n < 1000), such as (")
    unit = "row" if format == "PARQUET" else "byte"
    assert f": {unit} " in str(stalled.detail)
    assert " and 1 more" in str(stalled.detail)
    statement = str(stalled.hint).partition("or give 6 rows up with ")[2]
    rows(environment, statement)
    assert failure(environment) is None
    good = [n for n in range(10) if n not in bad]
    assert rows(environment, "SELECT n FROM s ORDER BY n") == [(n,) for n in good for _ in "ab"]


@pytest.mark.parametrize(
    ("condition", "violations"),
    [
        ("amount < 5", 1),
        ("ratio < 5", 2),
        ("at >= timestamptz '2020-01-01 00:00:00+00'", 1),
        ("doc ->> 'kind' = 'a'", 1),
        ("tags[1] = 'x' AND cardinality(tags) > 0", 1),
        ("name ~ '^[a-z]+$'", 1),
        ("name LIKE 'a%' OR amount IS NULL", 1),
        ("CASE WHEN id = 0 THEN true ELSE 10 / id > 3 END", 1),
    ],
)
def test_conditions_are_over_columns_of_all_types(
    environment: Environment, lake: Path, condition: str, violations: int
) -> None:
    objects = [
        {"id": 0, "amount": "4.5", "ratio": 1, "at": "2021-01-01", "doc": {"kind": "a"}},
        {"id": 1, "amount": "5.5", "ratio": "NaN", "name": "B", "tags": ["x"]},
        {"id": 9, "ratio": 7, "at": "2019-01-01", "doc": {"kind": "b"}, "name": "a", "tags": ["y"]},
    ]
    (lake / "a.json").write_text("".join(json.dumps(row) + "\n" for row in objects))
    columns = (
        "id integer, amount numeric(10, 2), ratio double precision, at timestamptz, doc jsonb, "
        "name text, tags text[]"
    )
    rows(
        environment, f"CREATE SOURCE s ({columns}, CONSTRAINT c CHECK ({condition})) {OBJECTS} JSON"
    )
    detail = failure(environment)
    assert detail is not None
    assert detail.startswith(f"c: {violations} of 3 rows violate"), detail
    assert ", such as (" in detail


def test_only_inserted_rows_are_checked(environment: Environment, tmp_path: Path) -> None:
    desc = RelationDesc((Column("n", BIGINT), Column("x", DOUBLE)))
    path = tmp_path / "rows.parquet"
    updates = [(-1, 1.0, -1), (None, 2.0, 1), (3, float("nan"), 2), (4, 0.5, 1)]
    columns = dict(zip(("n", "x", "mz_diff"), map(list, zip(*updates, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path)
    constraints = []
    for name, text in {
        "positive": "n > 0",
        "quotient": "1 / (n + 1) >= 0",
        "ratio": "1 / (n + 1) >= x",
    }.items():
        condition = parse_one(f"CREATE TABLE t (n bigint, x real, CHECK ({text}))")
        [check] = condition.args["constraints"]
        constraints.append(
            Constraint(name, ConstraintKind.CHECK, (), condition=check.args["check"])
        )
    staged = StagedRows(
        environment.runtime.engines.small,
        pads.dataset(str(path)),
        StorageCollectionId(GlobalId("u1")),
        desc,
        {constraint.name: source_check(constraint, desc) for constraint in constraints},
    )
    assert staged.counts(constraints) == [4, 0, 0, 3]
    assert staged.example(constraints[2]) in ("3, NaN", "4, 0.5")


@pytest.mark.parametrize(
    ("definition", "error"),
    [
        (f"(id integer, CONSTRAINT c CHECK (id > 0), CONSTRAINT c CHECK (id > 1)) {OBJECTS} JSON", InvalidConstraint),
        (f"(id integer CHECK (id > random())) {OBJECTS} JSON", InvalidConstraint),
        (f"(id text CHECK (id = current_user)) {OBJECTS} JSON", InvalidConstraint),
        (f"(id text CHECK ('pg_class'::regclass IS NOT NULL)) {OBJECTS} JSON", InvalidConstraint),
        (f"(id text CHECK (id::mood = 'ok')) {OBJECTS} JSON", UnsupportedSql),
        (f"(id integer CHECK (id > 0) DEFERRABLE) {OBJECTS} JSON", UnsupportedSql),
        (f"(id integer UNIQUE) {OBJECTS} JSON", UnsupportedSql),
        (f"(id integer CONSTRAINT c NOT NULL) {OBJECTS} JSON", SqlSyntaxError),
        (f"(id integer NOT NULL NULL) {OBJECTS} JSON", SqlSyntaxError),
        (f"() {OBJECTS} JSON", SqlSyntaxError),
        (
            "FROM KAFKA CONNECTION k (TRANSACTION TOPIC 'a.transaction') FORMAT JSON ENVELOPE DEBEZIUM "
            "FOR TABLES (public.t (id integer CHECK (id > 0)))",
            UnsupportedSql,
        ),
    ],
)  # fmt: skip
def test_a_constraint_that_cannot_be_checked_is_refused(
    environment: Environment, definition: str, error: type[Exception]
) -> None:
    rows(environment, "CREATE TYPE mood AS ENUM ('ok', 'sad')")
    with pytest.raises(error):
        rows(environment, f"CREATE SOURCE s {definition}")

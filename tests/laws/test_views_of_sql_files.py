"""The law of maintained results for queries that others wrote: each as a materialized view over
tables that are filled, changed and emptied. ``--views-of FOLDER`` reads the SQL files of a folder,
such as a checkout of another database's tests."""

from __future__ import annotations

import traceback
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from fixtures.maintaining import Bench
from fixtures.sql_files import SUFFIXES, SqlFile
from sql import test_jsonb
from sql.compared import ANSWERED, COLUMNS, PRINTED, ROWS, queries

from reclock.algebra.json_documents import normal_form
from reclock.compute.steps.delta import has_delta_rules
from reclock.plan.relational import Plan

OWN = Path(__file__).parent / "views"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("files"))


def _difference(file: SqlFile, bench: Bench, text: str, plan: Plan | AssertionError) -> str:
    """How the view of a query differs from it; empty if it does not."""
    try:
        if isinstance(plan, AssertionError):
            raise plan
        bench.check(plan, file.sides(text, plan))
    except Exception as error:
        return f"{text}\n-- {''.join(traceback.format_exception_only(error)).strip()[:1500]}"
    return ""


def test_the_views_of_a_file_are_maintained_as_their_queries_answer(
    path: Path, bench: Bench
) -> None:
    file = SqlFile(bench.engine)
    different: list[str] = []
    ways = Counter[str]()
    for text, plan in file.views(path):
        if not isinstance(plan, AssertionError):
            ways["from changes" if has_delta_rules(plan) else "recomputed"] += 1
        different += filter(None, [_difference(file, bench, text, plan)])
    print(f"{path}: {dict(ways)}, {len(different)} different")
    assert not different, "\n\n".join(different)


# --- the queries that PostgreSQL answers too ---

JSON = ("jsonb_rows", "jsonb_failing")
QUERIES = [
    *(sql for name in (*ANSWERED, *PRINTED, "failing", *JSON) for sql in queries(name)),
    *(f"SELECT id, {expression} AS x FROM d" for expression in queries("jsonb_expressions")),
]


@pytest.fixture(scope="module")
def answered(bench: Bench) -> SqlFile:
    """Their tables."""
    file = SqlFile(bench.engine)
    for name, columns in COLUMNS.items():
        file.create_table(name, columns, ROWS[name])
    documents = [
        (id, None if text is None else normal_form(text), txt)
        for id, text, txt in test_jsonb.rows()
    ]
    file.create_table("d", "id int, doc jsonb, txt text", documents)
    return file


def test_the_view_of_a_query_that_postgresql_answers_is_maintained(
    text: str, answered: SqlFile, bench: Bench
) -> None:
    """Of some of them, chosen by chance once for all; ``--maintained-plans`` says of how many."""
    if (plan := answered.view(text)) is not None:
        assert not _difference(answered, bench, text, plan)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "path" in metafunc.fixturenames:
        folder = Path(metafunc.config.getoption("views_of") or OWN)
        files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
        metafunc.parametrize("path", files, ids=[str(path.relative_to(folder)) for path in files])
    else:
        chosen = sorted(set(QUERIES), key=lambda text: crc32(text.encode()))
        metafunc.parametrize("text", chosen[: metafunc.config.getoption("maintained_plans")])

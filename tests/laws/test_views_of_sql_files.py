"""The law of maintained results for queries that others wrote: each as a materialized view over
tables that are filled, changed and emptied. ``--views-of FOLDER`` reads the SQL files of a folder,
such as a checkout of another database's tests."""

from __future__ import annotations

import traceback
from collections import Counter
from pathlib import Path

import pytest
from fixtures.maintaining import Bench
from fixtures.sql_files import SUFFIXES, SqlFile

from reclock.compute.delta import has_delta_rules

OWN = Path(__file__).parent / "views"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = Path(metafunc.config.getoption("views_of") or OWN)
    files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    metafunc.parametrize("path", files, ids=[str(path.relative_to(folder)) for path in files])


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("files"))


def test_the_views_of_a_file_are_maintained_as_their_queries_answer(
    path: Path, bench: Bench
) -> None:
    file = SqlFile(bench.engine)
    different: list[str] = []
    ways = Counter[str]()
    for text, plan in file.views(path):
        try:
            if isinstance(plan, AssertionError):
                raise plan
            ways["from changes" if has_delta_rules(plan) else "recomputed"] += 1
            bench.check(plan, file.sides(text, plan))
        except Exception as error:
            different.append(
                f"{text}\n-- {''.join(traceback.format_exception_only(error)).strip()[:1500]}"
            )
    print(f"{path}: {dict(ways)}, {len(different)} different")
    assert not different, "\n\n".join(different)

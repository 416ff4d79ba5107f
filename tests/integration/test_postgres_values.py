"""Values of a real server that a column cannot hold: they fail their table alone, and there is a
way to read it."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal

import pytest
from fixtures.publications import Killed, Lakehouse, Upstream, killing_at
from fixtures.sunk import delta_rows

from reclock import failpoints
from reclock.adapter.query.overview import object_of, overview_of
from reclock.algebra.relations import numeric
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.errors import ErrorAtTime, InvalidOption, OutputFailed
from reclock.pipeline import tick


def test_values_that_do_not_fit_fail_their_tables_alone(
    upstream: Upstream, here: Lakehouse
) -> None:
    """When they are copied, and in a transaction: of it the other tables have their rows."""
    upstream.table("good (id int)")
    upstream.run(
        "CREATE TABLE copied (id int PRIMARY KEY, n numeric)",
        "INSERT INTO copied VALUES (1, 1), (2, 'NaN')",
    )
    upstream.run(
        "CREATE TABLE changed (id int PRIMARY KEY, d date)",
        "INSERT INTO changed VALUES (1, '2024-02-29')",
        "CREATE TABLE deep (id int PRIMARY KEY, a int[])",
        "INSERT INTO deep VALUES (2, '{{1,2},{3,4}}')",
    )
    upstream.run("INSERT INTO good VALUES (1)")
    here.create(upstream)
    copied = f'table "public.copied", column "n": {numeric()} cannot hold NaN'
    deep = 'table "public.deep", column "a": integer[] cannot hold {{1,2},{3,4}}'
    assert here.tick() == [copied, deep]
    assert here.sql("SELECT * FROM good") == [(1,)]
    assert here.tick() == []
    upstream.run(
        "INSERT INTO good VALUES (2)",
        "INSERT INTO changed VALUES (2, 'infinity')",
        "INSERT INTO copied VALUES (3, 3)",
    )
    changed = 'table "public.changed", column "d": date cannot hold infinity'
    assert here.tick() == [changed]
    upstream.run("INSERT INTO good VALUES (3)")
    assert here.tick() == []
    assert here.sql("SELECT id FROM good ORDER BY id") == [(1,), (2,), (3,)]
    for table, message in (("copied", copied), ("changed", changed), ("deep", deep)):
        with pytest.raises(OutputFailed) as found:
            here.sql(f"SELECT * FROM {table}")
        assert found.value.message == message
        assert "in the row with id = 2" in str(found.value.detail)
    stalled = here.sql(
        "SELECT name, error FROM mz_source_statuses WHERE status = 'stalled' ORDER BY name"
    )
    assert stalled == [("changed", changed), ("copied", copied), ("deep", deep)]


def test_a_table_whose_values_do_not_fit_is_read_as_text_or_without_them(
    upstream: Upstream, here: Lakehouse
) -> None:
    upstream.run(
        "CREATE TABLE t (id int PRIMARY KEY, n numeric, d date, at timestamptz, more text)",
        "CREATE TABLE beside (id int PRIMARY KEY, n numeric)",
        "INSERT INTO t VALUES (1, 'NaN', 'infinity', '0044-03-15 12:00+00 BC', 'x')",
        "INSERT INTO t (id, n, d) VALUES (2, 0.12345678901234567890, '0044-03-15 BC')",
    )
    options = "TEXT COLUMNS (t.n, public.t.d, t.at) EXCLUDE COLUMNS (t.more)"
    here.sql(
        f"CREATE SOURCE pg FROM POSTGRES CONNECTION '{upstream.connection}' PUBLICATION "
        f"'p' {options} FOR TABLES (t, beside)"
    )
    assert here.tick() == []
    upstream.run(
        "INSERT INTO t VALUES (3, '-Infinity', '-infinity', 'infinity', 'y')",
        "UPDATE t SET n = 5, more = 'z' WHERE id = 1",
    )
    assert here.tick() == []
    assert here.sql("SELECT * FROM t ORDER BY id") == [
        (1, "5", "infinity", "0044-03-15 12:00:00+00 BC"),
        (2, "0.12345678901234567890", "0044-03-15 BC", None),
        (3, "-Infinity", "-infinity", "infinity"),
    ]
    [(_, text)] = here.sql("SHOW CREATE SOURCE pg")
    assert "n TEXT" in text
    assert "more" not in text

    def refused(options: str) -> str:
        with pytest.raises(InvalidOption) as raised:
            here.sql(
                f"CREATE SOURCE q FROM POSTGRES CONNECTION '{upstream.connection}' "
                f"PUBLICATION 'p' {options} FOR TABLES (t AS u)"
            )
        return str(raised.value)

    assert refused("TEXT COLUMNS (t.nn)") == 'table "public.t" has no column "nn"'
    assert refused("EXCLUDE COLUMNS (t.id)") == 'column "id" of table "public.t" cannot be excluded'
    assert (
        refused("EXCLUDE COLUMNS (beside.n)") == 'table "public.beside" is not in the publication'
    )


def test_offsets_of_a_publication_cannot_be_skipped(upstream: Upstream, here: Lakehouse) -> None:
    """It would take away other tables' rows of the same transactions."""
    upstream.table("t (id int)")
    here.create(upstream)
    with pytest.raises(
        InvalidOption, match=r'offsets of source "reclock\.public\.pg" cannot be skipped'
    ):
        here.sql("ALTER SOURCE pg SKIP ''")


def test_a_new_copy_brings_back_tables_that_failed(upstream: Upstream, here: Lakehouse) -> None:
    """From its time on: before that they have the rows, and then the error, that they had."""
    upstream.run(
        "CREATE TABLE copied (id int PRIMARY KEY, n numeric)",
        "INSERT INTO copied VALUES (1, 1), (2, 'NaN')",
        "CREATE TABLE changed (id int PRIMARY KEY, d date)",
        "INSERT INTO changed VALUES (1, '2024-02-29'), (2, '2024-03-01')",
        "CREATE TABLE narrowed (id int PRIMARY KEY, a int)",
        "INSERT INTO narrowed VALUES (1, 1)",
    )
    here.create(upstream)
    here.sql("CREATE MATERIALIZED VIEW days AS SELECT count(*) AS c, max(d) AS last FROM changed")
    here.sql("CREATE SINK k FROM changed INTO DELTA 'changed'")

    def tick_once() -> list[str]:
        failed = here.tick()
        assert here.sql(
            "SELECT name FROM mz_source_statuses WHERE status = 'stalled' ORDER BY name"
        ) == [(name,) for name in sorted(failing)]
        return failed

    def now() -> Timestamp:
        return here.environment.stores.oracle.read_ts(EPOCH_MS)

    failing = {"copied"}
    assert len(tick_once()) == 1
    before = now()
    failing |= {"changed", "narrowed"}
    upstream.run(
        "INSERT INTO changed VALUES (3, 'infinity')",
        "ALTER TABLE narrowed DROP COLUMN a",
        "INSERT INTO narrowed VALUES (2)",
    )
    assert len(tick_once()) == 4  # the view and the sink too
    here.sql("ALTER SOURCE pg RESNAPSHOT")  # nothing is mended yet
    upstream.run("UPDATE copied SET n = 2 WHERE id = 2")
    failing -= {"copied"}
    assert "changed" in " ".join(tick_once())
    during = now()
    assert here.sql("SELECT * FROM copied ORDER BY id") == [(1, Decimal(1)), (2, Decimal(2))]
    upstream.run(
        "UPDATE changed SET d = '2024-03-03' WHERE id = 3", "DELETE FROM changed WHERE id = 1"
    )
    upstream.run("ALTER TABLE narrowed ADD COLUMN a int", "INSERT INTO copied VALUES (3, 3)")
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    failing.clear()
    assert tick_once() == []
    rows = [(2, date(2024, 3, 1)), (3, date(2024, 3, 3))]
    assert here.sql("SELECT * FROM changed ORDER BY id") == rows
    assert here.sql("SELECT * FROM days") == [(2, date(2024, 3, 3))]
    assert here.sql("SELECT id, a FROM narrowed ORDER BY id") == [(1, None), (2, None)]
    assert delta_rows(here.environment.stores.settings.home / "sinks" / "changed") == Counter(rows)
    assert here.sql(f"SELECT count(*) FROM changed AS OF {before}") == [(2,)]
    assert here.sql(f"SELECT c FROM days AS OF {before}") == [(2,)]
    for relation in ("changed", "days"):
        with pytest.raises(ErrorAtTime, match="date cannot hold infinity"):
            here.sql(f"SELECT * FROM {relation} AS OF {during}")
    upstream.run(
        "INSERT INTO changed VALUES (4, '2024-04-04')", "UPDATE narrowed SET a = 5 WHERE id = 1"
    )
    assert tick_once() == []
    assert here.sql("SELECT * FROM days") == [(3, date(2024, 4, 4))]
    assert here.sql("SELECT id, a FROM narrowed ORDER BY id") == [(1, 5), (2, None)]
    # it may fail again, and come back again
    upstream.run("INSERT INTO changed VALUES (5, '-infinity')")
    failing = {"changed"}
    assert len(tick_once()) == 3
    upstream.run("DELETE FROM changed WHERE id = 5")
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    failing.clear()
    assert tick_once() == []
    assert here.sql("SELECT * FROM days") == [(3, date(2024, 4, 4))]
    assert here.sql("SELECT status FROM mz_source_statuses WHERE name = 'changed'") == [
        ("running",)
    ]


def test_a_table_that_failed_alone_is_a_problem_of_the_overview_with_its_way_out(
    upstream: Upstream, here: Lakehouse
) -> None:
    """Also where views and sinks have its error, hints name the source that brings it back."""
    upstream.run(
        "CREATE TABLE good (id int PRIMARY KEY)",
        "CREATE TABLE renamed (id int PRIMARY KEY, a int)",
        "INSERT INTO renamed VALUES (1, 1)",
    )
    here.create(upstream)
    here.sql("CREATE MATERIALIZED VIEW ids AS SELECT count(*) AS c FROM good")
    here.sql("CREATE MATERIALIZED VIEW sums AS SELECT sum(a) AS a FROM renamed")
    here.sql("CREATE SINK k FROM renamed INTO DELTA 'renamed'")
    assert here.tick() == []
    names = [object.name.rpartition(".")[2] for object in overview_of(here.environment).objects]
    assert names == ["ids", "k", "pg", "sums"]

    upstream.run("ALTER TABLE renamed RENAME a TO b", "INSERT INTO renamed VALUES (2, 2)")
    report = tick.run(here.environment, owner="tests")
    assert len(report.failed) == 3
    resnapshot = "ALTER SOURCE reclock.public.pg RESNAPSHOT"
    assert all(resnapshot in str(failure.hint) for failure in report.failed)
    overview = overview_of(here.environment)
    failed = [object for object in overview.objects if object.is_problem]
    assert [(object.name, object.status, object.culprit) for object in failed] == [
        ("reclock.public.k", "stalled", "reclock.public.renamed"),
        ("reclock.public.renamed", "stalled", None),
        ("reclock.public.sums", "failing", "reclock.public.renamed"),
    ]
    assert [object.type for object in failed] == ["sink", "subsource", "maintained view"]
    assert all(resnapshot in str(object.hint) for object in failed)
    assert {object.name: object.status for object in overview.objects}["reclock.public.pg"] == (
        "running"
    )
    for relation in ("renamed", "sums"):
        with pytest.raises(OutputFailed) as raised:
            here.sql(f"SELECT * FROM {relation}")
        assert resnapshot in str(raised.value.hint)

    detail = object_of(here.environment, failed[1].id)
    assert [way.statement for way in detail.object.ways_out] == [resnapshot]
    upstream.run("ALTER TABLE renamed RENAME b TO a")
    here.sql(detail.object.ways_out[0].statement)
    assert here.tick() == []
    assert overview_of(here.environment).problems == 0
    assert here.sql("SELECT a FROM sums") == [(3,)]


@pytest.mark.parametrize(
    "point",
    ["ingest.after_read_once", "ingest.after_bind", "ingest.before_commit", "ingest.after_commit"],
)
def test_a_tick_that_dies_while_a_table_comes_back_is_gone_on_with(
    point: str, upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.run(
        "CREATE TABLE t (id int PRIMARY KEY, n numeric)", "INSERT INTO t VALUES (1, 'NaN')"
    )
    upstream.table("u (id int)")
    here.create(upstream)
    assert len(here.tick()) == 1
    upstream.run("UPDATE t SET n = 1", "INSERT INTO u VALUES (1)")
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "on_reach", killing_at(point))
        with pytest.raises(Killed):
            here.tick()
    assert here.tick() == []
    assert here.sql("SELECT * FROM t") == [(1, Decimal(1))]
    assert here.sql("SELECT * FROM u") == [(1,)]

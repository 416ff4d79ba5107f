"""Values of a real server that a column cannot hold: they fail their table alone, and there is a way to read it."""

from __future__ import annotations

import pytest
from fixtures.publications import Lakehouse, Upstream

from reclock.algebra.relations import numeric
from reclock.errors import InvalidOption, OutputFailed

pytestmark = pytest.mark.spark


def test_values_that_do_not_fit_fail_their_tables_alone(upstream: Upstream, here: Lakehouse) -> None:
    """When they are copied, and in a transaction: of it the other tables have their rows."""
    upstream.table("good (id int)")
    upstream.run("CREATE TABLE copied (id int PRIMARY KEY, n numeric)", "INSERT INTO copied VALUES (1, 1), (2, 'NaN')")
    upstream.run("CREATE TABLE changed (id int PRIMARY KEY, d date)", "INSERT INTO changed VALUES (1, '2024-02-29')")
    upstream.run("INSERT INTO good VALUES (1)")
    here.create(upstream)
    copied = f'table "public.copied", column "n": {numeric()} cannot hold NaN'
    assert here.tick() == [copied]
    assert here.sql("SELECT * FROM good") == [(1,)]
    assert here.tick() == []
    upstream.run("INSERT INTO good VALUES (2)", "INSERT INTO changed VALUES (2, 'infinity')", "INSERT INTO copied VALUES (3, 3)")
    changed = 'table "public.changed", column "d": date cannot hold infinity'
    assert here.tick() == [changed]
    upstream.run("INSERT INTO good VALUES (3)")
    assert here.tick() == []
    assert here.sql("SELECT id FROM good ORDER BY id") == [(1,), (2,), (3,)]
    for table, message in (("copied", copied), ("changed", changed)):
        with pytest.raises(OutputFailed) as found:
            here.sql(f"SELECT * FROM {table}")
        assert found.value.message == message
        assert "in the row with id = 2" in str(found.value.detail)
    stalled = here.sql("SELECT name, error FROM mz_source_statuses WHERE status = 'stalled' ORDER BY name")
    assert stalled == [("changed", changed), ("copied", copied)]


def test_a_table_whose_values_do_not_fit_is_read_as_text_or_without_them(upstream: Upstream, here: Lakehouse) -> None:
    upstream.run(
        "CREATE TABLE t (id int PRIMARY KEY, n numeric, d date, at timestamptz, more text)",
        "CREATE TABLE beside (id int PRIMARY KEY, n numeric)",
        "INSERT INTO t VALUES (1, 'NaN', 'infinity', '0044-03-15 12:00+00 BC', 'x')",
        "INSERT INTO t (id, n, d) VALUES (2, 0.12345678901234567890, '0044-03-15 BC')",
    )
    options = "TEXT COLUMNS (t.n, public.t.d, t.at) EXCLUDE COLUMNS (t.more)"
    here.sql(f"CREATE SOURCE pg FROM POSTGRES CONNECTION '{upstream.connection}' PUBLICATION 'p' {options} FOR TABLES (t, beside)")
    assert here.tick() == []
    upstream.run(
        "INSERT INTO t VALUES (3, '-Infinity', '-infinity', 'infinity', 'y')", "UPDATE t SET n = 5, more = 'z' WHERE id = 1"
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
        with pytest.raises(InvalidOption) as found:
            here.sql(
                f"CREATE SOURCE q FROM POSTGRES CONNECTION '{upstream.connection}' PUBLICATION 'p' {options} FOR TABLES (t AS u)"
            )
        return str(found.value)

    assert refused("TEXT COLUMNS (t.nn)") == 'table "public.t" has no column "nn"'
    assert refused("EXCLUDE COLUMNS (t.id)") == 'column "id" of table "public.t" cannot be excluded'
    assert refused("EXCLUDE COLUMNS (beside.n)") == 'table "public.beside" is not in the publication'


def test_offsets_of_a_publication_cannot_be_skipped(upstream: Upstream, here: Lakehouse) -> None:
    """It would take away other tables' rows of the same transactions."""
    upstream.table("t (id int)")
    here.create(upstream)
    with pytest.raises(InvalidOption, match=r'offsets of source "reclock\.public\.pg" cannot be skipped'):
        here.sql("ALTER SOURCE pg SKIP ''")

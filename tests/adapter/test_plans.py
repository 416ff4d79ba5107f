"""What was planned before is what would be planned now, for whoever says it, and what reads nothing
has one answer."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fixtures.sessions import last_answer

from reclock.adapter.planning import plan_cache
from reclock.adapter.planning.statement_planner import StatementPlanner
from reclock.adapter.session import prepared as preparation
from reclock.adapter.session.prepared import RepeatedInsert
from reclock.adapter.session.session import Session
from reclock.algebra.relations import BIGINT, INTEGER, SMALLINT, TEXT, ScalarType, numeric
from reclock.algebra.timestamps import Timestamp
from reclock.errors import (
    InvalidOption,
    PermissionDenied,
    ReclockError,
    ResultTooLarge,
    UnsupportedSql,
)
from reclock.runtime.environment import Environment
from reclock.sql.planning.statement import plan_statement
from reclock.sql.syntax.parse import parse

CORPUS = (
    "SELECT 1",
    "SELECT 1.0, 1.00, '1'",
    "SELECT * FROM t",
    "SELECT a + 1 AS more FROM t WHERE a = 3 ORDER BY 1 LIMIT 2",
    "SELECT count(*) FROM v",
    "SELECT * FROM t JOIN v USING (a)",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT current_user, session_user, current_database(), current_schema()",
    "SELECT now(), current_date",
    "SELECT current_setting('application_name'), pg_backend_pid()",
    "SELECT 't'::regclass",
    "SHOW TABLES",
    "SHOW COLUMNS FROM t",
    "SHOW CREATE VIEW v",
)
CHANGES = (
    "CREATE TABLE t (a int, b text)",
    "CREATE TABLE other.t (a bigint)",
    "CREATE VIEW v AS SELECT a FROM t",
    "CREATE VIEW v AS SELECT a, b FROM t WHERE a > 1",
    "DROP VIEW v",
    "DROP TABLE t CASCADE",
    "DROP TABLE other.t",
    "CREATE INDEX i ON t (a)",
    "GRANT SELECT ON t TO ada",
    "REVOKE SELECT ON t FROM ada",
    "GRANT SELECT ON v TO ada",
    "GRANT USAGE ON SCHEMA other TO ada",
    "REVOKE USAGE ON CLUSTER default FROM PUBLIC",
    "GRANT USAGE ON CLUSTER default TO PUBLIC",
    "ALTER ROLE bob RENAME TO robert",
    "ALTER ROLE robert RENAME TO bob",
)


def test_a_plan_that_is_remembered_is_the_one_that_would_be_made(environment: Environment) -> None:
    admin = Session(environment)
    last_answer(admin, "CREATE ROLE ada LOGIN; CREATE ROLE bob LOGIN; CREATE SCHEMA other")
    sessions = [
        admin,
        Session(environment, user="ada"),
        Session(environment, user="bob"),
        Session(environment, user="ada"),
    ]
    for session in sessions[3:]:
        last_answer(session, "SET search_path = other, public; SET application_name = 'second'")
    chance, remembered = random.Random(7), 0
    for _ in range(12):
        with suppress(ReclockError):
            last_answer(admin, chance.choice(CHANGES))
        catalog = environment.stores.planner_catalog()
        for text in CORPUS:
            [parsed] = parse(text)
            before = repr(parsed.node)
            for session in sessions:
                for _ in range(2):
                    planner = session.planner
                    assert text_of(planner.plan_cached, parsed, catalog) == text_of(
                        planner.plan, parsed, catalog
                    )
            assert repr(parsed.node) == before, f"planning has changed the syntax of: {text}"
        remembered += len(catalog.planned)
        assert catalog is environment.stores.planner_catalog()
    assert remembered > 12 * len(CORPUS)


def text_of(plan: Any, *about: Any) -> str:
    try:
        answer = plan(*about)
        return repr(answer.statement if isinstance(answer, plan_cache.CachedPlan) else answer)
    except ReclockError as error:
        return repr(error)


def test_a_repeated_statement_is_planned_once_until_the_catalog_changes(
    environment: Environment, monkeypatch
) -> None:
    planned: list[str] = []
    plan = StatementPlanner.plan

    def noted(self: StatementPlanner, parsed: Any, *rest: Any) -> Any:
        planned.append(parsed.text)
        return plan(self, parsed, *rest)

    first, second = Session(environment), Session(environment)
    last_answer(first, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    monkeypatch.setattr(StatementPlanner, "plan", noted)
    for session in (first, second, first):
        assert last_answer(session, "SELECT a FROM t") == [(1,)]
    assert planned == ["SELECT a FROM t"]
    last_answer(second, "INSERT INTO t VALUES (2)")
    assert sorted(last_answer(first, "SELECT a FROM t")) == [(1,), (2,)]
    last_answer(second, "CREATE VIEW v AS SELECT 1")
    last_answer(first, "SELECT a FROM t")
    assert planned.count("SELECT a FROM t") == 2


def test_a_right_that_is_revoked_is_not_remembered(environment: Environment) -> None:
    admin = Session(environment)
    last_answer(
        admin,
        (
            "CREATE ROLE ada LOGIN; CREATE TABLE t (a int); GRANT SELECT ON t TO ada; GRANT "
            "USAGE ON SCHEMA public TO ada"
        ),
    )
    ada = Session(environment, user="ada")
    assert last_answer(ada, "SELECT * FROM t") == last_answer(ada, "SELECT * FROM t") == []
    last_answer(admin, "REVOKE SELECT ON t FROM ada")
    with pytest.raises(PermissionDenied):
        last_answer(ada, "SELECT * FROM t")
    assert last_answer(admin, "SELECT * FROM t") == []


def test_what_sessions_differ_in_is_not_shared(environment: Environment) -> None:
    first, second = Session(environment), Session(environment)
    first.variables.process_id, second.variables.process_id = 11, 22
    last_answer(second, "SET application_name = 'second'")
    for _ in range(2):
        assert last_answer(
            first, "SELECT pg_backend_pid(), current_setting('application_name')"
        ) == [(11, "")]
        assert last_answer(
            second, "SELECT pg_backend_pid(), current_setting('application_name')"
        ) == [(22, "second")]


def test_the_present_moment_is_that_of_each_statement(tmp_path: Path) -> None:
    times = iter(range(1_700_000_000_000, 1_800_000_000_000, 1_000))
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(next(times))) as environment:
        session = Session(environment)
        [(first,)], [(second,)] = (last_answer(session, "SELECT now()") for _ in range(2))
        assert first < second


def test_the_constant_now_means_the_time_of_each_statement(tmp_path: Path) -> None:
    now = [Timestamp(1_700_000_000_000)]
    with Environment.initialise(tmp_path, clock=lambda: now[0]) as environment:
        session = Session(environment)
        last_answer(session, "CREATE TABLE t (n int, at timestamptz)")
        insert = session.prepare("INSERT INTO t VALUES ($1, 'now')", [INTEGER])
        for n in range(2):
            session.execute_prepared(insert, (n,))
            assert last_answer(session, "SELECT max(at) = 'now' FROM t") == [(True,)]
            now[0] = Timestamp(now[0] + 24 * 3600 * 1000)
        assert last_answer(session, "SELECT count(DISTINCT at) FROM t") == [(2,)]
        for definition in ("VIEW v AS SELECT 'today' < d FROM u", "TABLE w (d date DEFAULT 'now')"):
            last_answer(session, "DROP TABLE IF EXISTS u; CREATE TABLE u (d date)")
            with pytest.raises(UnsupportedSql):
                last_answer(session, f"CREATE {definition}")


def test_equal_parameters_that_look_different_have_answers_of_their_own(
    environment: Environment,
) -> None:
    session = Session(environment)
    prepared = session.prepare("SELECT $1::text", [numeric()])
    for value in ("1.0", "1.00", "1.0"):
        result = session.execute_prepared(prepared, (Decimal(value),))
        assert list(result.rows()) == [(value,)]


def test_the_answer_of_constants_is_computed_once_unless_it_is_long(
    environment: Environment, monkeypatch
) -> None:
    session = Session(environment)
    runs: list[object] = []
    engine = environment.runtime.engines.small
    compute = engine.run
    monkeypatch.setattr(
        engine, "run", lambda *arguments: runs.append(1) or compute(*arguments), raising=True
    )
    for text, times in (
        ("SELECT 1 AS a, 'x' AS b", 1),
        ("SELECT * FROM generate_series(1, 20000)", 3),
    ):
        runs.clear()
        answers = [last_answer(session, text) for _ in range(3)]
        assert answers[0] == answers[1] == answers[2] != []
        assert len(runs) == times
    runs.clear()
    result = next(iter(session.execute("SELECT * FROM generate_series(1, 5)")))
    result.close()  # nothing was taken: nothing is known
    assert len(last_answer(session, "SELECT * FROM generate_series(1, 5)")) == 5


def test_plans_do_not_pile_up(environment: Environment, monkeypatch) -> None:
    monkeypatch.setattr(plan_cache, "MOST_PLANS", 3)
    session = Session(environment)
    catalog = environment.stores.planner_catalog()
    for number in range(10):
        assert last_answer(session, f"SELECT {number}") == [(number,)]
        assert len(catalog.planned) <= 3
    last_answer(session, f"SELECT '{'x' * plan_cache.LONGEST_TEXT}'")
    assert not any(len(str(key)) > plan_cache.LONGEST_TEXT for key in catalog.planned)


def test_a_result_beyond_the_limit_ends_with_an_error_that_says_it(
    environment: Environment,
) -> None:
    session = Session(environment)
    query = "SELECT n, repeat('x', 100) FROM generate_series(1, 300000) AS t (n)"
    last_answer(session, "SET max_result_size = '1MB'")
    for _ in range(2):  # what ended so is not remembered as an answer
        with pytest.raises(ResultTooLarge) as failed:
            last_answer(session, query)
        assert (failed.value.sqlstate, failed.value.limit_bytes) == ("53000", 1 << 20)
    assert last_answer(session, "SELECT 1") == last_answer(session, "SELECT 1") == [(1,)]
    last_answer(session, "SET max_result_size = 3")
    with pytest.raises(ResultTooLarge):
        last_answer(session, "SELECT 1")
    last_answer(session, "SET max_result_size = 0")
    assert len(last_answer(session, query)) == 300_000
    with pytest.raises(InvalidOption):
        last_answer(session, "SET max_result_size = 'much'")


LOOKUPS = (
    "SELECT b FROM t WHERE a = $1",
    "SELECT b FROM t WHERE $1 = a AND b = $2",
    "SELECT b FROM t WHERE a = $1 OR a = $2::bigint",
    "SELECT t.b, count(*) FROM t JOIN t AS u ON t.a = u.a WHERE u.b = $1 GROUP BY t.b",
    "SELECT * FROM (SELECT a, b FROM t ORDER BY a LIMIT 3) AS few WHERE a = $1",
    "SELECT b FROM v WHERE a = $1 ORDER BY b LIMIT 5",
    "DELETE FROM t WHERE a = $1",
    "DELETE FROM t WHERE a = $1 RETURNING b",
    "UPDATE t SET a = a + $2 WHERE a = $1",
    "UPDATE t SET b = $2, c = 1.5 WHERE a = $1 RETURNING *",
)
OTHERS = (
    "SELECT b FROM t WHERE a > $1",
    "SELECT b FROM t WHERE a = $1 LIMIT $2",
    "SELECT b FROM t WHERE a = $1 LIMIT $1",
    "SELECT b, $2 FROM t WHERE a = $1",
    "SELECT a, (SELECT $2::text FROM t AS u WHERE u.b = $1 AND u.a = t.a) FROM t",
    "SELECT b FROM t WHERE a = $1 + 1",
    "SELECT b FROM t WHERE c = $1",
    "SELECT b FROM t WHERE a = $1 AND 7 = $2",
    "SELECT b FROM t WHERE a = $1 AND now() > '2026-01-01'",
    "UPDATE t SET c = $2 WHERE a = $1",
    "UPDATE t SET a = $2 / 2 WHERE a = $1",
    "UPDATE t SET b = upper($2) WHERE a = $1",
    "UPDATE t SET b = $2 WHERE a > $1",
)
VALUES = ((1, 2), (2, 2), (-(2**31), 7), (1, None))


@pytest.mark.parametrize("declared", [None, SMALLINT, BIGINT], ids=str)
def test_a_plan_for_any_values_is_the_one_that_these_values_get(
    lookups: Session, declared: ScalarType | None
) -> None:
    catalog, planner = lookups.environment.stores.planner_catalog(), lookups.planner
    for text in (*LOOKUPS, *OTHERS):
        prepared = lookups.prepare(text, [] if "u.b = $1" in text else [declared])
        for values in product(VALUES, range(2)):
            texts = [
                str(value) if type == TEXT and value is not None else value
                for value, type in zip(values[0], prepared.parameter_types, strict=False)
            ]
            about = prepared.parsed, catalog, prepared.bound(texts)
            cached, planned = text_of(planner.plan_cached, *about), text_of(planner.plan, *about)
            assert comparable(cached) == comparable(planned), text


def comparable(plan: str) -> str:
    """Without moments, and without what an UPDATE knows of a column that gets a value."""
    plan = re.sub(r"datetime\([^)]*\)", "datetime()", plan)
    if plan.startswith("Modify"):
        return plan.replace("is_nullable=False", "is_nullable=True")
    return plan


def test_a_lookup_is_planned_once_for_all_values(lookups: Session, monkeypatch) -> None:
    planned: list[str] = []
    plan = StatementPlanner.plan

    def noted(self: StatementPlanner, parsed: Any, *rest: Any) -> Any:
        planned.append(parsed.text)
        return plan(self, parsed, *rest)

    prepared = [
        lookups.prepare(text)
        for text in (
            "SELECT b FROM t WHERE a = $1",
            "SELECT b FROM t WHERE a > $1",
            "UPDATE t SET b = $2 WHERE a = $1",
        )
    ]
    monkeypatch.setattr(StatementPlanner, "plan", noted)
    for value in (1, 2, 3, 1):
        answers = [lookups.execute_prepared(statement, (value,)) for statement in prepared[:2]]
        assert list(answers[0].rows()) == [(f"row {value}",)]
        assert len(list(answers[1].rows())) == 9 - value
    assert planned.count(prepared[0].parsed.text) == 1
    assert planned.count(prepared[1].parsed.text) == 4
    for value in (1, 2, 3, 1):
        lookups.execute_prepared(prepared[2], (value, f"new {value}"))
        assert list(lookups.execute_prepared(prepared[0], (value,)).rows()) == [(f"new {value}",)]
    assert planned.count(prepared[2].parsed.text) == 1


INSERTS = (
    "INSERT INTO written VALUES ($1, $2)",
    "INSERT INTO written (b, a) VALUES ($2, $1)",
    "INSERT INTO written VALUES ($1 + 1, $2, 2.25), ($1, 'x', 1)",
    "INSERT INTO written VALUES ($1, $2, $1)",
    "INSERT INTO written VALUES ($1, upper($2), 2.25)",
    "INSERT INTO written (a, c) VALUES ($1, $2::numeric)",
    "INSERT INTO written (a, at) VALUES ($1, $2::timestamptz)",
    "INSERT INTO written (a, at) VALUES ($1, now()) ",
    "INSERT INTO written (a, b) VALUES ($1, $2) RETURNING b",
    "INSERT INTO written (a, b) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    "INSERT INTO written (a, b) VALUES ($1, twice($2))",
    "INSERT INTO numbered (b) VALUES ($1)",
    "INSERT INTO numbered (id, b) OVERRIDING USER VALUE VALUES ($1, $2)",
    "INSERT INTO numbered (id, b) VALUES ($1, $2)",
    "INSERT INTO stamped (b) VALUES ($1)",
)
WRITTEN = ((1, "1"), (2, "2.25"), (None, None), (3, "2026-01-01 12:00"), (4, "long"))


def test_an_insert_from_a_template_is_the_one_that_is_planned_with_its_values(
    written: Session,
) -> None:
    for zone in ("UTC", "Asia/Tokyo"):
        last_answer(written, f"SET timezone = '{zone}'")
        catalog, planner = written.environment.stores.planner_catalog(), written.planner
        for text in INSERTS:
            prepared = written.prepare(text)
            for values in (*WRITTEN, *reversed(WRITTEN)):
                typed = [
                    {BIGINT: value, INTEGER: value}.get(type, value and str(value))
                    for value, type in zip(values, prepared.parameter_types, strict=False)
                ]
                about = prepared.parsed, catalog, prepared.bound(typed)
                cached, planned = (
                    text_of(planner.plan_cached, *about),
                    text_of(planner.plan, *about),
                )
                assert comparable(cached) == comparable(planned), text


def test_an_insert_is_planned_once_for_all_values(written: Session, monkeypatch) -> None:
    planned: list[str] = []
    plan = StatementPlanner.plan

    def noted(self: StatementPlanner, parsed: Any, *rest: Any) -> Any:
        planned.append(parsed.text)
        return plan(self, parsed, *rest)

    prepared = written.prepare("INSERT INTO written VALUES ($1, $2)")
    monkeypatch.setattr(StatementPlanner, "plan", noted)
    for value in range(4):
        written.execute_prepared(prepared, (value, f"r{value}"))
    assert planned == [prepared.parsed.text]
    assert last_answer(written, "SELECT a, b, c FROM written ORDER BY a") == [
        (value, f"r{value}", Decimal("1.5")) for value in range(4)
    ]
    last_answer(written, "ALTER TABLE written ALTER COLUMN c SET DEFAULT 2.5")
    written.execute_prepared(prepared, (4, "r4"))
    assert last_answer(written, "SELECT c FROM written WHERE a = 4") == [(Decimal("2.5"),)]


def test_a_default_that_reads_the_moment_is_the_same_for_a_whole_pipeline(written: Session) -> None:
    catalog = written.environment.stores.planner_catalog()
    prepared = written.prepare("INSERT INTO stamped (b) VALUES ($1)")
    assert prepared.parsed is not None
    for value in ("x", "y"):
        about = prepared.parsed, catalog, prepared.bound((value,))
        assert written.planner.plan_cached(*about).template is not None
    written.transactions.begin_implicit()
    assert written.insert_all([RepeatedInsert(prepared, [["x", "y", "z"]], 3)])
    written.transactions.end_implicit()
    assert last_answer(written, "SELECT count(*), count(DISTINCT at) FROM stamped") == [(3, 1)]


def test_an_insert_from_a_template_needs_the_privilege(written: Session) -> None:
    last_answer(written, "CREATE ROLE ada LOGIN; GRANT INSERT ON written TO ada")
    ada = Session(written.environment, user="ada")
    prepared = ada.prepare("INSERT INTO written VALUES ($1, $2)")
    for value in (1, 2):
        ada.execute_prepared(prepared, (value, "own"))
    last_answer(written, "REVOKE INSERT ON written FROM ada")
    with pytest.raises(PermissionDenied):
        ada.execute_prepared(prepared, (3, "own"))


def test_a_statement_is_described_once_until_the_catalog_changes(
    lookups: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients that browse the catalog prepare the same statement for each object."""
    planned: list[str] = []

    def noted(parsed: Any, *rest: Any) -> Any:
        planned.append(parsed.text)
        return plan_statement(parsed, *rest)

    monkeypatch.setattr(preparation, "plan_statement", noted)
    text = "SELECT b, $2::text AS given FROM v WHERE a = $1"
    first = lookups.prepare(text)
    assert lookups.prepare(text) == first
    assert len(planned) == 1
    assert lookups.prepare(text, [BIGINT]).parameter_types == (BIGINT, TEXT)
    last_answer(lookups, "CREATE OR REPLACE VIEW v AS SELECT a, c AS b FROM t")
    assert lookups.prepare(text).desc != first.desc


@pytest.fixture
def lookups(environment: Environment) -> Session:
    session = Session(environment)
    last_answer(
        session,
        (
            "CREATE TABLE t (a int, b text, c numeric(9, 2)); CREATE VIEW v AS SELECT a, b "
            "FROM t WHERE c = 1"
        ),
    )
    last_answer(
        session, "INSERT INTO t SELECT g, 'row ' || g::text, 1 FROM generate_series(0, 9) AS g(g)"
    )
    return session


@pytest.fixture
def written(environment: Environment) -> Session:
    session = Session(environment)
    last_answer(
        session,
        "CREATE TABLE written (a int NOT NULL, b varchar(3), c numeric(4, 1) DEFAULT 1.5, "
        "at timestamptz); "
        "CREATE TABLE numbered (id int GENERATED BY DEFAULT AS IDENTITY, b text); "
        "CREATE TABLE stamped (b text, at timestamptz DEFAULT now()); "
        "CREATE FUNCTION twice(text) RETURNS text LANGUAGE SQL AS 'SELECT $1 || $1'",
    )
    return session


def test_what_is_too_deep_to_be_written_for_an_engine_is_refused(environment: Environment) -> None:
    session = Session(environment)
    last_answer(session, "CREATE TABLE deep (a int)")
    for terms in (100, 300, 500):
        try:
            last_answer(session, f"SELECT {' + '.join(['a'] * terms)} FROM deep")
        except UnsupportedSql as error:
            assert str(error) == "the statement is nested too deeply"  # noqa: PT017
            assert terms > 100

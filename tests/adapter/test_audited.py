"""Whatever a statement changes in the catalog is in the audit log, with who did it; and who a
session is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reclock.adapter.planning.statement_planner import StatementPlanner
from reclock.adapter.session.session import Session
from reclock.adapter.transaction.catalog_change import defines
from reclock.algebra.timestamps import Timestamp
from reclock.errors import InvalidAuthorization, NothingClaimed, PermissionDenied, UnknownObject
from reclock.runtime.environment import Environment
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.planning.statement import plan_statement
from reclock.sql.syntax.parse import parse

SOURCE = "FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT CSV"
DEFINITIONS = f"""
CREATE ROLE ada LOGIN; CREATE ROLE readers; CREATE ROLE gone;
ALTER ROLE ada SUPERUSER;
ALTER ROLE gone RENAME TO going;
ALTER ROLE readers SET cluster = other;
ALTER SYSTEM SET cluster = default;
DROP ROLE going;
GRANT readers TO ada;
CREATE SOURCE s (a int) {SOURCE};
CREATE TABLE t (a int);
ALTER TABLE t ALTER COLUMN a SET DEFAULT 1;
COMMENT ON TABLE t IS 'one row';
ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0);
COMMENT ON CONSTRAINT positive ON t IS 'more than none';
CREATE SCHEMA aside;
ALTER TABLE t SET SCHEMA aside;
ALTER TABLE aside.t SET SCHEMA public;
CREATE SEQUENCE numbers;
ALTER SEQUENCE numbers INCREMENT BY 2;
CREATE FUNCTION doubled(a int) RETURNS int RETURN a * 2;
CREATE OR REPLACE FUNCTION doubled(a int) RETURNS int RETURN a + a;
GRANT EXECUTE ON FUNCTION doubled TO readers;
ALTER FUNCTION doubled(int) OWNER TO readers;
ALTER FUNCTION doubled RENAME TO twice;
DROP FUNCTION twice;
CREATE TYPE mood AS ENUM ('sad', 'ok');
ALTER TYPE mood ADD VALUE 'fine';
ALTER TYPE mood RENAME VALUE 'ok' TO 'so so';
COMMENT ON TYPE mood IS 'how it is';
ALTER TYPE mood OWNER TO readers;
ALTER TYPE mood RENAME TO feeling;
DROP TYPE feeling;
CREATE TYPE counts AS LIST (ELEMENT TYPE = int);
CREATE TYPE pairs AS (a int, b text);
CREATE TYPE prices AS MAP (KEY TYPE = text, VALUE TYPE = numeric);
DROP TYPE counts, prices;
CREATE DOMAIN size AS int CHECK (VALUE > 0);
ALTER DOMAIN size ADD CONSTRAINT few CHECK (VALUE < 9);
ALTER DOMAIN size RENAME CONSTRAINT few TO some;
COMMENT ON DOMAIN size IS 'how large it is';
COMMENT ON CONSTRAINT some ON DOMAIN size IS 'not many';
ALTER DOMAIN size OWNER TO readers;
ALTER DOMAIN size RENAME TO extent;
DROP DOMAIN extent;
CREATE VIEW v AS SELECT * FROM t;
CREATE OR REPLACE VIEW v AS SELECT a FROM t;
CREATE MATERIALIZED VIEW m AS SELECT * FROM s;
CREATE DEFAULT INDEX ON v;
GRANT SELECT ON s TO readers;
REVOKE SELECT ON s FROM readers;
GRANT CREATEROLE ON SYSTEM TO readers;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO readers;
ALTER VIEW v OWNER TO readers;
ALTER SOURCE s RENAME TO r;
REASSIGN OWNED BY readers TO ada;
DROP OWNED BY readers;
DROP VIEW v;
ALTER SOURCE r SET (RETAIN HISTORY FOR '1 day');
CREATE SINK k FROM t INTO DELTA 'out';
CREATE VIEW w AS SELECT a FROM t;
ALTER SINK k SET FROM w;
CREATE CLUSTER c VIRTUAL;
ALTER CLUSTER c RENAME TO d;
ALTER CLUSTER d SWAP WITH default;
ALTER CLUSTER d SWAP WITH default;
ALTER CLUSTER d SET (SIZE '2');
CREATE CLUSTER REPLICA d.one;
DROP CLUSTER REPLICA d.one;
DROP CLUSTER d;
CREATE SECRET word AS 'open sesame';
ALTER SECRET word AS 'another';
CREATE CONNECTION away TO KAFKA (BROKER 'localhost:9092') WITH (VALIDATE = FALSE);
ALTER CONNECTION away SET (BROKER 'localhost:9093') WITH (VALIDATE = FALSE);
CREATE SCHEMA lab;
ALTER SCHEMA lab RENAME TO workshop;
ALTER SCHEMA workshop SWAP WITH public;
ALTER SCHEMA workshop SWAP WITH public;
DROP SCHEMA workshop;
CREATE DATABASE away;
ALTER DATABASE away RENAME TO home;
DROP DATABASE home
"""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(1_000)) as environment:
        yield environment


def run(session: Session, sql: str) -> None:
    for result in session.execute(sql):
        list(result.rows())


def test_every_statement_that_changes_the_catalog_is_audited(environment: Environment) -> None:
    session, audited_kinds = Session(environment), set[type]()
    for text in DEFINITIONS.split(";"):  # the text of what is parsed has no secrets
        [parsed] = parse(text)
        before = len(environment.stores.catalog.get_audit_logs())
        audited_kinds.add(type(plan_statement(parsed, environment.stores.planner_catalog())))
        run(session, text)
        events = environment.stores.catalog.get_audit_logs()[before:]
        assert events, parsed.text
        assert {event.user for event in events} == {"reclock"}
        verbs = {event.event_type for event in events}
        assert verbs & {parsed.text.split()[0].lower(), "alter", "drop", "create"}, parsed.text
    assert audited_kinds == set(defines)


def test_the_audit_log_names_who_the_session_began_as(environment: Environment) -> None:
    run(
        Session(environment),
        "CREATE ROLE ada SUPERUSER LOGIN; CREATE ROLE boss SUPERUSER; GRANT boss TO ada",
    )
    session = Session(environment, user="ada")
    run(session, "SET ROLE boss; CREATE VIEW v AS SELECT 1 AS one")
    item = environment.stores.catalog.sync().item_by_name(5, "v")
    boss = environment.stores.catalog.snapshot().role_by_name("boss")
    assert item is not None
    assert boss is not None
    assert item.owner_role_id == boss.id
    assert environment.stores.catalog.get_audit_logs()[-1].user == "ada"


def test_defaults_of_variables_come_from_the_system_the_role_and_the_start(
    environment: Environment,
) -> None:
    admin = Session(environment)
    run(
        admin,
        "CREATE ROLE ada LOGIN; ALTER SYSTEM SET cluster = a; ALTER SYSTEM SET search_path = x",
    )
    run(admin, "ALTER ROLE ada SET search_path = y")
    # a session that has begun keeps its defaults
    assert admin.variables.get("cluster") == "default"
    ada = Session(environment, user="ada", startup={"statement_timeout": "7000"})
    assert [
        ada.variables.get(name) for name in ("cluster", "search_path", "statement_timeout")
    ] == ["a", "y", "7s"]
    run(ada, "SET search_path = z; SET cluster = z; SET statement_timeout = 9000; RESET ALL")
    assert [
        ada.variables.get(name) for name in ("cluster", "search_path", "statement_timeout")
    ] == ["a", "y", "7s"]
    run(admin, "ALTER ROLE ada RESET ALL; ALTER SYSTEM RESET cluster")
    again = Session(environment, user="ada")
    assert [again.variables.get(name) for name in ("cluster", "search_path")] == ["default", "x"]


def test_a_session_whose_role_was_dropped_can_do_nothing_more(environment: Environment) -> None:
    admin = Session(environment)
    run(admin, "CREATE ROLE ada LOGIN; CREATE ROLE other; GRANT other TO ada")
    ada = Session(environment, user="ada")
    run(ada, "SET ROLE other")
    run(admin, "DROP ROLE other")
    with pytest.raises(InvalidAuthorization):
        run(ada, "SELECT 1")
    run(ada, "RESET ROLE; SELECT 1")
    run(admin, "DROP ROLE ada")
    with pytest.raises(InvalidAuthorization):
        run(ada, "SELECT 1")


def test_a_new_role_of_an_old_name_is_not_the_one_that_was_set(environment: Environment) -> None:
    admin = Session(environment)
    run(
        admin,
        "CREATE ROLE ada LOGIN; CREATE ROLE other; GRANT other TO ada; CREATE TABLE t (a int)",
    )
    ada = Session(environment, user="ada")
    run(ada, "SET ROLE other")
    run(admin, "ALTER ROLE other RENAME TO older; CREATE ROLE other; GRANT SELECT ON t TO other")
    with pytest.raises(PermissionDenied) as denied:
        run(ada, "SELECT * FROM t")
    assert '"older"' in str(denied.value.detail)


def test_rights_are_looked_at_anew_for_every_statement(environment: Environment) -> None:
    admin = Session(environment)
    run(admin, "CREATE ROLE ada LOGIN; GRANT CREATEROLE ON SYSTEM TO ada")
    ada = Session(environment, user="ada")
    run(ada, "CREATE ROLE one")
    run(admin, "REVOKE CREATEROLE ON SYSTEM FROM ada")
    with pytest.raises(PermissionDenied):
        run(ada, "CREATE ROLE two")
    with pytest.raises(UnknownObject):
        run(admin, "DROP ROLE two")


def test_what_was_allowed_on_an_older_catalog_is_decided_again(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right is revoked between planning and the transaction: the statement is planned, and
    refused, anew."""
    admin = Session(environment)
    run(admin, "CREATE ROLE ada LOGIN; GRANT CREATEROLE ON SYSTEM TO ada")
    ada = Session(environment, user="ada")
    plan, revoked = StatementPlanner.plan, list[str]()

    def then_revoke(self: StatementPlanner, *arguments: object) -> PlannedStatement:
        statement = plan(self, *arguments)  # type: ignore[arg-type]
        if self.users == ada.users and not revoked:
            revoked.append("now")
            run(admin, "REVOKE CREATEROLE ON SYSTEM FROM ada")
        return statement

    monkeypatch.setattr(StatementPlanner, "plan", then_revoke)
    with pytest.raises(PermissionDenied):
        run(ada, "CREATE ROLE two")


def test_what_was_allowed_in_a_block_is_decided_again_at_its_commit(
    environment: Environment,
) -> None:
    admin = Session(environment)
    run(admin, "CREATE ROLE ada LOGIN; GRANT CREATEROLE ON SYSTEM TO ada")
    ada = Session(environment, user="ada")
    run(ada, "BEGIN; CREATE ROLE two")
    run(admin, "REVOKE CREATEROLE ON SYSTEM FROM ada")
    with pytest.raises(PermissionDenied):
        run(ada, "COMMIT")


def test_decisions_are_the_owners(environment: Environment) -> None:
    admin = Session(environment)
    run(admin, f"CREATE ROLE ada LOGIN; CREATE SOURCE s (a int) {SOURCE}")
    ada = Session(environment, user="ada")
    with pytest.raises(PermissionDenied):
        run(ada, "ALTER SOURCE s RETRY")
    run(admin, "GRANT CREATE ON SCHEMA public TO ada; ALTER SOURCE s OWNER TO ada")
    with pytest.raises(NothingClaimed):
        run(ada, "ALTER SOURCE s RETRY")

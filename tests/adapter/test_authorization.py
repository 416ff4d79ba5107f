"""Every statement is allowed exactly when the role holds all that the statement takes, however it
comes to hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NoReturn, get_args, get_type_hints

import pytest
from fixtures.planning import FLIGHTS, SYSTEM_RELATION, World

from reclock.adapter.context.users import Users
from reclock.adapter.planning.authorization import authorize, requirements, requires
from reclock.adapter.statement_context import executes
from reclock.adapter.statements import dispatch  # noqa: F401  (imports every family)
from reclock.adapter.transaction.catalog_change import defines
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.acl import PUBLIC_ROLE_ID, Privilege, granted
from reclock.catalog.objects import Cluster, Database, Role, Schema, SystemPrivilege
from reclock.catalog.snapshot import CACHED, CatalogSnapshot
from reclock.errors import InternalError, InvalidAuthorization, PermissionDenied
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.catalog_builder import build_catalog
from reclock.sql.names import SessionNames
from reclock.sql.planning.registry import PlannedStatement, all_plannings
from reclock.sql.planning.statement import plan_statement
from reclock.sql.syntax.parse import parse

OWNER, GROUP, MIDDLE, ROLE, OTHER, BOSS = "u2", "u3", "u4", "u5", "u6", "u7"
NAMES = {
    OWNER: "owner",
    GROUP: "team",
    MIDDLE: "middle",
    ROLE: "someone",
    OTHER: "other",
    BOSS: "boss",
}
WAYS = {"direct": ROLE, "inherited": GROUP, "public": PUBLIC_ROLE_ID}
"""To whom privileges are granted so that someone has them."""

Held = tuple[str, str]
"""A privilege, and the name of what it is on."""


@dataclass(frozen=True)
class Case:
    """All that a statement takes. ``member`` are names of roles."""

    sql: str
    needs: tuple[Held, ...] = ()
    owns: tuple[str, ...] = ()
    member: tuple[str, ...] = ()
    only_superusers: bool = False


INSIDE = (("USAGE", "reclock"), ("USAGE", "public"))
PUBLICATION = (
    "CREATE SOURCE pub FROM POSTGRES CONNECTION 'dbname=x' PUBLICATION 'p' SLOT 's' FOR "
    "TABLES (public.a (a int))"
)
AWAY = (
    "CREATE SECRET word AS 'x'; CREATE CONNECTION away TO KAFKA (BROKER 'b'); "
    "CREATE CONNECTION bucket TO AWS (ACCESS KEY ID 'k', SECRET ACCESS KEY SECRET word); "
    "CREATE CONNECTION server TO AWS (REGION 'r')"
)
READ = (("USAGE", "default"), *INSIDE)
MAKE = (("USAGE", "reclock"), ("CREATE", "public"))
MANAGE = (("CREATEROLE", "system"),)
CASES = (
    Case("SELECT * FROM flights", (*READ, ("SELECT", "flights"))),
    Case("SELECT * FROM delays", (*READ, ("SELECT", "delays"))),
    Case(
        "SELECT 1 FROM flights JOIN weather ON true",
        (*READ, ("SELECT", "flights"), ("SELECT", "weather")),
    ),
    Case("SELECT (SELECT count(*) FROM weather)", (*READ, ("SELECT", "weather"))),
    Case("SELECT * FROM flights_progress", (*READ, ("SELECT", "flights_progress"))),
    Case("SUBSCRIBE flights", (*READ, ("SELECT", "flights"))),
    Case("TAIL delays", (*READ, ("SELECT", "delays"))),
    Case("EXPLAIN SELECT * FROM flights", (*READ, ("SELECT", "flights"))),
    Case("EXPLAIN ANALYZE SELECT * FROM flights", (*READ, ("SELECT", "flights"))),
    Case("EXPLAIN CREATE TABLE x (a integer)", MAKE),
    Case("SET CONSTRAINTS ALL IMMEDIATE"),
    Case("VACUUM (ANALYZE) t"),
    Case("DROP EXTENSION IF EXISTS nothing"),
    Case("DROP TRIGGER IF EXISTS nothing ON t"),
    Case("SELECT current_user"),
    Case("SELECT name FROM mz_sources"),
    Case("SHOW SOURCES"),
    Case("SHOW CREATE SOURCE flights"),
    Case("SHOW PRIVILEGES"),
    Case("SHOW ALL"),
    Case("SET cluster = other"),
    Case("RESET cluster"),
    Case("BEGIN"),
    Case("DROP VIEW IF EXISTS nothing"),
    Case("SET ROLE NONE"),
    Case("SET ROLE other", member=("other",)),
    Case("INSERT INTO t VALUES (1)", (*INSIDE, ("INSERT", "t"))),
    Case("INSERT INTO t VALUES (1) RETURNING a", (*READ, ("INSERT", "t"), ("SELECT", "t"))),
    Case("INSERT INTO t SELECT year FROM flights", (*READ, ("INSERT", "t"), ("SELECT", "flights"))),
    Case("UPDATE t SET a = 2", (*READ, ("UPDATE", "t"), ("SELECT", "t"))),
    Case("DELETE FROM t WHERE a = 1", (*READ, ("DELETE", "t"), ("SELECT", "t"))),
    Case(
        "MERGE INTO t USING flights ON a = year WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT "
        "DEFAULT VALUES",
        (*READ, ("INSERT", "t"), ("DELETE", "t"), ("SELECT", "t"), ("SELECT", "flights")),
    ),
    Case(
        "MERGE INTO t USING t AS s ON true WHEN MATCHED THEN UPDATE SET a = 1",
        (*READ, ("UPDATE", "t"), ("SELECT", "t")),
    ),
    Case("WITH f AS (SELECT 1 AS a) INSERT INTO t TABLE f", (*INSIDE, ("INSERT", "t"))),
    Case(
        "WITH d AS (DELETE FROM t RETURNING a), f AS (SELECT year FROM flights) INSERT INTO t SELECT a "
        "FROM d JOIN f ON a = year",
        (*READ, ("DELETE", "t"), ("SELECT", "t"), ("SELECT", "flights"), ("INSERT", "t")),
    ),
    Case("WITH i AS (INSERT INTO t VALUES (1)) SELECT 1", (*INSIDE, ("INSERT", "t"))),
    Case("EXPLAIN DELETE FROM t", (*READ, ("DELETE", "t"), ("SELECT", "t"))),
    Case("TRUNCATE t", (*INSIDE, ("DELETE", "t"))),
    Case(
        "TRUNCATE numbered RESTART IDENTITY",
        (*INSIDE, ("DELETE", "numbered")),
        owns=("numbers",),
    ),
    Case("COPY t FROM STDIN", (*INSIDE, ("INSERT", "t"))),
    Case("COPY t TO STDOUT", (*READ, ("SELECT", "t"))),
    Case("COPY (SELECT * FROM flights) TO STDOUT", (*READ, ("SELECT", "flights"))),
    Case(
        "COPY flights TO 's3://b/f' WITH (FORMAT = 'parquet', AWS CONNECTION = bucket)",
        (*READ, ("SELECT", "flights"), ("USAGE", "bucket")),
    ),
    Case("COPY t TO 's3://b/f' WITH (FORMAT = csv, AWS CONNECTION = server)", only_superusers=True),
    Case("COPY t TO 'f' WITH (FORMAT = csv)", only_superusers=True),
    Case("SUBSCRIBE TO flights", (*READ, ("SELECT", "flights"))),
    Case("COPY (SUBSCRIBE t) TO STDOUT", (*READ, ("SELECT", "t"))),
    Case("CREATE TABLE n (a int)", MAKE),
    Case("ALTER TABLE t ALTER COLUMN a SET DEFAULT 1", owns=("t",)),
    Case("ALTER TABLE t SET SCHEMA public", MAKE, owns=("t",)),
    Case("COMMENT ON TABLE t IS 'x'", owns=("t",)),
    Case("COMMENT ON ROLE other IS 'x'", only_superusers=True),
    Case("CREATE SEQUENCE n", MAKE),
    Case("ALTER SEQUENCE counter RESTART", owns=("counter",)),
    Case("CREATE FUNCTION n() RETURNS bigint RETURN (SELECT count(*) FROM t)", MAKE),
    Case("SELECT doubled(1)", (*READ, ("EXECUTE", "doubled(integer)"))),
    Case("SELECT * FROM rows_of_t()", (*READ, ("EXECUTE", "rows_of_t()"), ("SELECT", "t"))),
    Case(
        "CREATE OR REPLACE FUNCTION doubled(a int) RETURNS int RETURN a + a",
        MAKE,
        owns=("doubled(integer)",),
    ),
    Case("ALTER FUNCTION doubled RENAME TO n", owns=("doubled(integer)",)),
    Case("COMMENT ON FUNCTION doubled(int) IS 'x'", owns=("doubled(integer)",)),
    Case("GRANT EXECUTE ON FUNCTION doubled TO other", owns=("doubled(integer)",)),
    Case("DROP FUNCTION doubled(int)", owns=("doubled(integer)",)),
    Case("SHOW FUNCTIONS"),
    Case("CREATE TYPE n AS ENUM ('a')", MAKE),
    Case("CREATE TYPE n AS LIST (ELEMENT TYPE = int)", MAKE),
    Case("CREATE TYPE n AS (a int)", MAKE),
    Case("CREATE TYPE n AS MAP (KEY TYPE = text, VALUE TYPE = int)", MAKE),
    Case("CREATE TABLE n (a mood)", MAKE),
    Case("SELECT 'sad'::mood"),
    Case("CREATE VIEW n AS SELECT 'sad'::mood AS a", MAKE),
    Case("SELECT * FROM calm", (*READ, ("SELECT", "calm"))),
    Case("ALTER TYPE mood ADD VALUE 'n'", owns=("mood",)),
    Case("ALTER TYPE mood RENAME TO n", owns=("mood",)),
    Case("COMMENT ON TYPE mood IS 'x'", owns=("mood",)),
    Case("DROP TYPE mood CASCADE", owns=("mood",)),
    Case("CREATE DOMAIN n AS int CHECK (VALUE > 0)", MAKE),
    Case("CREATE TABLE n (a size)", MAKE),
    Case("SELECT 1::size"),
    Case("ALTER DOMAIN size SET DEFAULT 1", owns=("size",)),
    Case("ALTER DOMAIN size ADD CHECK (VALUE < 9)", owns=("size",)),
    Case("ALTER DOMAIN size RENAME TO n", owns=("size",)),
    Case("COMMENT ON DOMAIN size IS 'x'", owns=("size",)),
    Case("DROP DOMAIN size", owns=("size",)),
    Case("SHOW TYPES"),
    Case("SHOW SEQUENCES"),
    Case("SHOW CREATE TYPE mood"),
    Case("SHOW CREATE FUNCTION doubled"),
    Case("CREATE TABLE n (LIKE t)", (*MAKE, *READ, ("SELECT", "t"))),
    Case("CREATE TABLE n AS SELECT a FROM t", (*MAKE, *READ, ("SELECT", "t"))),
    Case("CREATE VIEW n AS SELECT * FROM flights", MAKE),
    Case("CREATE OR REPLACE VIEW delays AS SELECT 1 AS one", MAKE, ("delays",)),
    Case("CREATE MATERIALIZED VIEW n AS SELECT * FROM flights", (*MAKE, ("CREATE", "default"))),
    Case("CREATE SOURCE n (a int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT CSV", MAKE),
    Case("CREATE SECRET n AS 'x'", MAKE),
    Case("ALTER SECRET word AS 'x'", owns=("word",)),
    Case(
        "CREATE CONNECTION n TO KAFKA (BROKER 'b', PASSWORD SECRET word)",
        (*MAKE, *INSIDE, ("USAGE", "word")),
    ),
    Case("VALIDATE CONNECTION away", (*INSIDE, ("USAGE", "away"))),
    Case(
        "CREATE SOURCE n FROM KAFKA CONNECTION away (TOPIC 't') FORMAT TEXT",
        (*MAKE, *INSIDE, ("USAGE", "away")),
    ),
    Case(
        "CREATE SINK n FROM flights INTO DELTA 'd'",
        (*MAKE, *READ, ("SELECT", "flights"), ("CREATE", "default")),
    ),
    Case(
        (
            "CREATE SINK n FROM delays INTO KAFKA CONNECTION away (TOPIC 't') FORMAT JSON "
            "ENVELOPE DEBEZIUM"
        ),
        (*MAKE, *READ, ("SELECT", "delays"), ("CREATE", "default"), ("USAGE", "away")),
    ),
    Case("ALTER SINK outlet SET FROM same", (*READ, ("SELECT", "same")), ("outlet",)),
    Case("DROP CONNECTION away", owns=("away",)),
    Case("CREATE DEFAULT INDEX ON delays", (*MAKE, ("CREATE", "default")), ("delays",)),
    Case("DROP VIEW delays", owns=("delays",)),
    Case("DROP SOURCE flights CASCADE", owns=("flights",)),
    Case("ALTER SOURCE flights RETRY", owns=("flights",)),
    Case("ALTER SOURCE flights RESTART 'a.csv'", owns=("flights",)),
    Case("ALTER SOURCE pub RESNAPSHOT", owns=("pub",)),
    Case("ALTER SOURCE flights SET (RETAIN HISTORY FOR '90 days')", owns=("flights",)),
    Case("ALTER SOURCE flights WAIVE 'check'", owns=("flights",)),
    Case("ALTER SOURCE flights SKIP 'a.csv'", owns=("flights",)),
    Case("ALTER SOURCE flights SET (RETAIN HISTORY FOR '1d')", owns=("flights",)),
    Case("ALTER SOURCE flights RENAME TO trips", owns=("flights",)),
    Case("CREATE SCHEMA n", (("CREATE", "reclock"),)),
    Case("ALTER SCHEMA public RENAME TO n", (("CREATE", "reclock"),), ("public",)),
    Case("ALTER SCHEMA public SWAP WITH lab", (("CREATE", "reclock"),), ("public", "lab")),
    Case("DROP SCHEMA public CASCADE", owns=("public",)),
    Case("CREATE DATABASE n", (("CREATEDB", "system"),)),
    Case("ALTER DATABASE shop RENAME TO n", (("CREATEDB", "system"),), ("shop",)),
    Case("DROP DATABASE shop", owns=("shop",)),
    Case("CREATE CLUSTER n", (("CREATECLUSTER", "system"),)),
    Case("ALTER CLUSTER sized VIRTUAL", owns=("sized",)),
    Case("ALTER CLUSTER sized RENAME TO n", owns=("sized",)),
    Case("ALTER CLUSTER sized SWAP WITH default", owns=("sized", "default")),
    Case("CREATE CLUSTER REPLICA sized.n", owns=("sized",)),
    Case("DROP CLUSTER REPLICA sized.r1", owns=("sized",)),
    Case("DROP CLUSTER sized", owns=("sized",)),
    Case("SHOW CLUSTERS"),
    Case("CREATE ROLE n", MANAGE),
    Case("ALTER ROLE someone PASSWORD 'x'"),
    Case("ALTER ROLE other PASSWORD 'x'", MANAGE),
    Case("CREATE ROLE n SUPERUSER", only_superusers=True),
    Case("ALTER ROLE other LOGIN", MANAGE),
    Case("ALTER ROLE other SUPERUSER", only_superusers=True),
    Case("ALTER ROLE boss NOLOGIN", only_superusers=True),
    Case("ALTER ROLE other RENAME TO n", MANAGE),
    Case("ALTER ROLE boss RENAME TO n", only_superusers=True),
    Case("DROP ROLE other", MANAGE),
    Case("DROP ROLE boss", only_superusers=True),
    Case("GRANT other TO owner", MANAGE),
    Case("REVOKE other FROM owner", MANAGE),
    Case("GRANT boss TO other", only_superusers=True),
    Case("ALTER ROLE someone SET cluster = other"),
    Case("ALTER ROLE other SET cluster = other", MANAGE),
    Case("ALTER ROLE boss SET cluster = other", only_superusers=True),
    Case("ALTER SYSTEM SET cluster = other", only_superusers=True),
    Case("GRANT SELECT ON flights, delays TO other", owns=("flights", "delays")),
    Case("REVOKE ALL ON SCHEMA public FROM other", owns=("public",)),
    Case("GRANT CREATE ON DATABASE reclock TO other", owns=("reclock",)),
    Case("GRANT CREATE ON CLUSTER default TO other", owns=("default",)),
    Case("GRANT CREATEROLE ON SYSTEM TO someone", only_superusers=True),
    Case("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO other"),
    Case(
        "ALTER DEFAULT PRIVILEGES FOR ROLE other GRANT SELECT ON TABLES TO owner", member=("other",)
    ),
    Case(
        "ALTER DEFAULT PRIVILEGES FOR ALL ROLES GRANT SELECT ON TABLES TO other",
        only_superusers=True,
    ),
    Case("ALTER CLUSTER default OWNER TO other", owns=("default",), member=("other",)),
    Case("REASSIGN OWNED BY other TO owner", member=("other", "owner")),
    Case("DROP OWNED BY other", member=("other",)),
)


@cache
def objects() -> tuple[Any, ...]:
    """What there is, owned by a role that is no superuser, and nothing granted to anyone."""
    world = World()
    world.execute(
        f"{FLIGHTS}; CREATE TABLE t (a int); CREATE SEQUENCE counter; "
        "CREATE TABLE numbered (n int); CREATE SEQUENCE numbers OWNED BY numbered.n; "
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE VIEW calm AS SELECT 'ok'::mood AS m; "
        "CREATE DOMAIN size AS int CHECK (VALUE > 0); "
        "CREATE FUNCTION doubled(a int) RETURNS int RETURN a * 2; "
        "CREATE FUNCTION rows_of_t() RETURNS SETOF t BEGIN ATOMIC SELECT * FROM t; END; "
        f"{AWAY}; {PUBLICATION}; "
        "CREATE VIEW same AS SELECT a FROM t; CREATE SINK outlet FROM t INTO DELTA 'o'"
    )
    things = [*world.objects, Database(2, "shop", OWNER, ()), *world.items.values()]
    owned = Cluster | Database | Schema | type(world.item("t"))
    groups = {MIDDLE: {GROUP: "s1"}, ROLE: {MIDDLE: "s1"}}
    roles = [
        Role(id, name, ("superuser", "login") if id == BOSS else ("login",), groups.get(id, {}))
        for id, name in NAMES.items()
    ]
    bare = [
        replace(each, owner_role_id=OWNER, privileges=()) if isinstance(each, owned) else each
        for each in things
    ]
    return (*roles, *bare)


def catalog(
    *privileges: Held, to: str = ROLE, owns: tuple[str, ...] = (), member: tuple[str, ...] = ()
) -> PlannerCatalog:
    """The catalog in which ``to`` was granted ``held`` and owns ``owns``, and someone is a member
    of ``member``."""
    things = []
    for catalog_object in objects():
        name = getattr(catalog_object, "name", None)
        if isinstance(catalog_object, Role):
            if catalog_object.id == ROLE:
                more = {id: "s1" for id, role in NAMES.items() if role in member}
                catalog_object = replace(
                    catalog_object, membership={**catalog_object.membership, **more}
                )
        elif hasattr(catalog_object, "privileges"):
            owner = (
                (to if to != PUBLIC_ROLE_ID else ROLE)
                if name in owns
                else catalog_object.owner_role_id
            )
            acl = catalog_object.privileges
            for privilege in (privilege for privilege, on in privileges if on == name):
                acl = granted(acl, to, Privilege[privilege].value, owner)
            catalog_object = replace(catalog_object, owner_role_id=owner, privileges=acl)
        things.append(catalog_object)
    system = [Privilege[privilege].value for privilege, on in privileges if on == "system"]
    things += [SystemPrivilege(to, "s1", letter) for letter in system]
    return build_catalog(CatalogSnapshot.of(things, Timestamp(1)))


def is_allowed(sql: str, at: PlannerCatalog, role_id: str = ROLE) -> bool:
    names = SessionNames(session_user=NAMES[role_id], current_user=NAMES[role_id])
    statement = plan_statement(parse(sql)[0], with_system_relations(at), names)
    try:
        authorize(statement, at, Users(role_id, role_id), "default")
    except PermissionDenied:
        return False
    return True


def with_system_relations(at: PlannerCatalog) -> PlannerCatalog:
    if at.entry(SYSTEM_RELATION.id) is None:
        at.add(SYSTEM_RELATION)
    return at


def less_one(case: Case) -> Iterator[dict[str, Any]]:
    """All that the case takes but one thing, for each thing."""
    whole = {"needs": case.needs, "owns": case.owns, "member": case.member}
    for part, values in whole.items():
        for value in values:
            yield {**whole, part: tuple(each for each in values if each != value)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sql)
def test_a_statement_is_allowed_with_all_that_it_takes_and_with_nothing_less(
    case: Case, way: str
) -> None:
    to = WAYS[way]
    assert (
        is_allowed(case.sql, catalog(*case.needs, to=to, owns=case.owns, member=case.member))
        is not case.only_superusers
    )
    for held in less_one(case):
        assert not is_allowed(
            case.sql, catalog(*held["needs"], to=to, owns=held["owns"], member=held["member"])
        ), held


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sql)
def test_superusers_may_do_everything(case: Case) -> None:
    assert is_allowed(case.sql, catalog(), BOSS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sql)
def test_all_other_privileges_do_not_help(case: Case) -> None:
    every = {
        ("SELECT", "flights"),
        *(
            (p.name, on)
            for p in Privilege
            for on in ("flights", "delays", "weather", "t", "reclock")
        ),
    }
    every |= {
        (p.name, on)
        for p in Privilege
        for on in ("public", "default", "system", "flights_progress")
    }
    takes_more = bool(case.owns or case.member or case.only_superusers)
    assert is_allowed(case.sql, catalog(*sorted(every - set(case.needs)))) is (
        not case.needs and not takes_more
    )


OWNED = (
    "calm",
    "mood",
    "size",
    "doubled(integer)",
    "rows_of_t()",
    "outlet",
    "same",
    "flights",
    "delays",
    "weather",
    "t",
    "reclock",
    "shop",
    "public",
    "lab",
    "default",
    "flights_progress",
    "sized",
    "word",
    "away",
    "bucket",
    "pub",
    "counter",
    "numbered",
    "numbers",
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sql)
def test_owners_may_do_everything_with_what_they_own(case: Case) -> None:
    needs = tuple(need for need in case.needs if need[1] == "system")
    assert (
        is_allowed(case.sql, catalog(*needs, owns=OWNED, member=case.member))
        is not case.only_superusers
    )


def test_no_kind_of_statement_is_left_out() -> None:
    at = with_system_relations(catalog())
    planned = {
        type(plan_statement(parse(case.sql)[0], at, SessionNames(current_user="someone")))
        for case in CASES
    }
    answers = [get_type_hints(planning.planner)["return"] for planning in all_plannings().values()]
    assert planned == {kind for answer in answers for kind in get_args(answer) or (answer,)} - {
        NoReturn,
        PlannedStatement,
    }
    assert set(requires) == planned
    assert set(executes) | set(defines) == planned, (
        "each is executed by its family, or changes the catalog"
    )


def test_an_unknown_kind_of_statement_is_never_allowed() -> None:
    with pytest.raises(InternalError):
        requirements(object(), catalog(), Users(ROLE, ROLE), "default")  # type: ignore[arg-type]


def test_a_view_is_read_with_the_privileges_of_its_owner() -> None:
    needs = (*READ, ("SELECT", "delays"))
    at = catalog(*needs)
    assert at.snapshot is not None
    other_items = [
        replace(thing, owner_role_id=OTHER) if getattr(thing, "name", "") == "flights" else thing
        for thing in _things(at)
    ]
    at = build_catalog(CatalogSnapshot.of(other_items, Timestamp(1)))
    with pytest.raises(PermissionDenied) as denied:
        authorize(
            plan_statement(parse("SELECT * FROM delays")[0], at), at, Users(ROLE, ROLE), "default"
        )
    assert '"owner" needs' in str(denied.value.detail)
    assert is_allowed("SELECT * FROM delays", at, BOSS)


def _things(at: PlannerCatalog) -> list[Any]:
    assert at.snapshot is not None
    return [thing for kind in CACHED for thing in at.snapshot.all(kind).values()]


def test_what_is_given_to_another_must_be_allowed_to_be_there() -> None:
    """The new owner could have made it in that schema itself."""
    sql = "ALTER SOURCE flights OWNER TO other"
    assert not is_allowed(sql, catalog(owns=("flights",), member=("other",)))
    assert is_allowed(
        sql, catalog(("CREATE", "public"), to=PUBLIC_ROLE_ID, owns=("flights",), member=("other",))
    )
    assert not is_allowed(sql, catalog(("CREATE", "public"), to=PUBLIC_ROLE_ID, member=("other",)))
    assert not is_allowed(sql, catalog(("CREATE", "public"), to=PUBLIC_ROLE_ID, owns=("flights",)))


def test_an_error_names_the_object_the_role_and_what_it_lacks() -> None:
    at = catalog(*READ)
    with pytest.raises(PermissionDenied) as denied:
        authorize(
            plan_statement(parse("SELECT * FROM flights")[0], at), at, Users(ROLE, ROLE), "default"
        )
    assert denied.value.message == 'permission denied for SOURCE "reclock.public.flights"'
    assert denied.value.detail == 'role "someone" needs SELECT on it'
    assert denied.value.sqlstate == "42501"


@pytest.mark.parametrize(
    ("name", "complaint"), [("nobody", "does not exist"), ("mz_system", "not permitted to log in")]
)
def test_a_session_begins_with_a_role_that_may_log_in(name: str, complaint: str) -> None:
    snapshot = catalog().snapshot
    assert snapshot is not None
    with pytest.raises(InvalidAuthorization, match=complaint) as invalid:
        Users.of(name, snapshot)
    assert invalid.value.sqlstate == "28000"
    assert Users.of("someone", snapshot) == Users(ROLE, ROLE)


def test_set_role_asks_the_role_that_the_session_began_with() -> None:
    at = catalog(member=("other",))
    back = plan_statement(parse("SET ROLE other")[0], at)
    authorize(back, at, Users(ROLE, GROUP), "default")
    with pytest.raises(PermissionDenied):
        authorize(back, at, Users(GROUP, ROLE), "default")

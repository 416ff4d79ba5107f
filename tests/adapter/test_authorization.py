"""Every statement is allowed exactly when the role holds all that the statement takes, however it
comes to hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn, get_args, get_type_hints

import pytest
from fixtures.planning import SYSTEM_RELATION
from fixtures.privileges import BOSS, CASES, GROUP, NAMES, OTHER, READ, ROLE, WAYS, Case, catalog

from reclock.adapter.context.users import Users
from reclock.adapter.planning.authorization import authorize, requirements, requires
from reclock.adapter.statement_context import executes
from reclock.adapter.statements import dispatch  # noqa: F401  (imports every family)
from reclock.adapter.transaction.catalog_change import defines
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.acl import PUBLIC_ROLE_ID, Privilege
from reclock.catalog.snapshot import CACHED, CatalogSnapshot
from reclock.errors import InternalError, InvalidAuthorization, PermissionDenied
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.catalog_builder import build_catalog
from reclock.sql.names import SessionNames
from reclock.sql.planning.registry import PlannedStatement, all_plannings
from reclock.sql.planning.statement import plan_statement
from reclock.sql.syntax.parse import parse


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
            yield {**whole, part: tuple(entry for entry in values if entry != value)}


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
        replace(catalog_object, owner_role_id=OTHER)
        if getattr(catalog_object, "name", "") == "flights"
        else catalog_object
        for catalog_object in _things(at)
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
    return [catalog_object for kind in CACHED for catalog_object in at.snapshot.all(kind).values()]


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

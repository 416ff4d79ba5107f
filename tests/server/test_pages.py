"""The pages about an environment: where they lead, and that a decision needs a form of theirs that
is still true."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from fixtures.stalled import stall

from reclock.adapter.query.overview import docs_folder
from reclock.adapter.session.session import Session
from reclock.ingest.payload import Step
from reclock.introspection.page import FOLLOW_THEME
from reclock.runtime.environment import Environment
from reclock.server.pages import HtmlPage, Pages

SOURCE = (
    "CREATE SOURCE flights (k text) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN "
    "'b' FORMAT CSV WITH HEADER"
)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with Environment.initialise(tmp_path / "home") as environment:
        list(Session(environment).execute(SOURCE))
        list(Session(environment).execute("CREATE MATERIALIZED VIEW v AS SELECT k FROM flights"))
        list(Session(environment).execute("CREATE ROLE plain LOGIN"))
        yield environment


@pytest.fixture
def pages(environment: Environment) -> Pages:
    return Pages(environment, root="/", secret=b"of the tests")


def form_of(page: HtmlPage) -> dict[str, str]:
    fields = re.findall(r'name="(\w+)" value="([^"]*)"', page.html)
    return {name: html.unescape(value) for name, value in fields}


def claim_of(environment: Environment, id: str) -> Step:
    claim = environment.stores.frontiers.get(id).claim
    assert claim is not None
    return Step.from_payload(claim.payload)


def decided(environment: Environment) -> list[tuple[object, ...]]:
    """The decision and who made it."""
    query = (
        "SELECT details::jsonb ->> 'decision', \"user\" FROM mz_audit_events WHERE "
        "event_type = 'alter' ORDER BY id"
    )
    (result,) = Session(environment).execute(query)
    return list(result.rows())


def test_a_stalled_source_is_on_top_with_its_ways_out_and_the_view_names_it(
    environment: Environment, pages: Pages
) -> None:
    id = stall(environment, "flights")
    environment.stores.frontiers.advance_idle(
        [entry.id for entry in environment.stores.planner_catalog().indexes()],
        environment.stores.frontiers.get(id).upper,
    )
    overview = pages.get("", "ann").html
    names = re.findall(r'href="/object/(\w+)">([\w.]+)<', overview)
    assert names[0] == (id, "reclock.public.flights")
    assert f'<a class="button" href="/object/{id}/0">RETRY</a>' in overview
    assert "does not decode" in overview
    object_page = pages.get(f"object/{id}", "ann").html
    assert "two fields, not three" in object_page
    assert "reclock.public.v" in object_page
    skip = "ALTER SOURCE reclock.public.flights SKIP &#39;o.csv&#39; FROM 7 TO"
    assert f"{skip} 8;" in pages.get(f"object/{id}/1", "ann").html  # the record alone
    assert f"{skip} 100;" in pages.get(f"object/{id}/2", "ann").html


def test_the_overview_shows_what_is_asked_for_and_reloads_itself(
    environment: Environment, pages: Pages
) -> None:
    stall(environment, "flights")
    list(Session(environment).execute(SOURCE.replace("flights", '"Weather"')))

    def shown(**parameters: str) -> list[str]:
        page = pages.get("overview", "ann", parameters).html
        return [html.unescape(name) for name in re.findall(r'href="/object/\w+">([^<]+)<', page)]

    flights, view = "reclock.public.flights", "reclock.public.v"
    weather = 'reclock.public."Weather"'
    assert set(shown()) == {flights, view, weather}
    assert shown(name=" weATHer ") == [weather]
    assert shown(status="stalled") == [flights]
    assert shown(status="problem")[0] == flights
    assert weather not in shown(status="problem")
    assert shown(type="maintained view") == [view]
    assert shown(type="source", name="v") == []
    nothing = pages.get("", "ann", {"name": "<x>", "reload": "10"}).html
    assert "No object matches" in nothing
    assert "0 of 3 objects" in nothing
    assert 'value="&lt;x&gt;"' in nothing
    assert '<meta http-equiv="refresh" content="10">' in nothing
    for reload in ("", "0", "7", "-1", "10;url=//evil"):
        assert "http-equiv" not in pages.get("", "ann", {"reload": reload}).html


def test_a_decision_is_executed_once_it_is_confirmed_and_recorded(
    environment: Environment, pages: Pages
) -> None:
    id = stall(environment, "flights")
    form = form_of(pages.get(f"object/{id}/1", "ann"))
    assert decided(environment) == []  # looking decides nothing
    answer = pages.decide(f"object/{id}/1", form, "ann", role="reclock")
    assert (answer.status, answer.location) == (HTTPStatus.SEE_OTHER, f"/object/{id}")
    assert claim_of(environment, id).decisions.skip == (("o.csv", 7, 8),)
    assert decided(environment) == [("skip", "reclock")]


def test_one_button_gives_up_all_bad_records(environment: Environment, pages: Pages) -> None:
    id = stall(environment, "flights", records_at=(7, 20, 21))
    object_page = pages.get(f"object/{id}", "ann").html
    for at in (7, 20, 21):
        assert f"byte {at} of &#34;o.csv&#34;: two fields, not three" in object_page
    assert f'<a class="button" href="/object/{id}/1">SKIP 3 records</a>' in object_page
    confirmation = pages.get(f"object/{id}/1", "ann")
    assert "SKIP &#39;o.csv&#39; FROM 7 TO 8, FROM 20 TO 22;" in confirmation.html
    pages.decide(f"object/{id}/1", form_of(confirmation), "ann", role="reclock")
    assert claim_of(environment, id).decisions.skip == (("o.csv", 7, 8), ("o.csv", 20, 22))
    assert decided(environment) == [("skip", "reclock")] * 2


def test_a_form_that_is_not_ours_or_not_true_any_more_decides_nothing(
    environment: Environment, pages: Pages
) -> None:
    id = stall(environment, "flights")
    path = f"object/{id}/0"
    form = form_of(pages.get(path, "ann"))
    for other in ({}, form | {"token": ""}, form | {"token": "0" * 64}):
        answer = pages.decide(path, other, "ann", role="reclock")
        assert answer.status is HTTPStatus.FORBIDDEN
        assert f'href="/object/{id}"' in answer.html
    # the token is ann's
    assert pages.decide(path, form, "bob", role="reclock").status is HTTPStatus.FORBIDDEN
    for statement in (
        "DROP SOURCE flights",
        "ALTER SOURCE reclock.public.flights SKIP 'o.csv'",
        "",
    ):
        answer = pages.decide(path, form | {"statement": statement}, "ann", role="reclock")
        assert answer.status is HTTPStatus.CONFLICT
        assert f'href="/object/{id}"' in answer.html
    refused = pages.decide(path, form, "ann", role="plain")
    assert refused.status is HTTPStatus.CONFLICT
    assert "must be owner" in refused.html
    assert f'href="/object/{id}"' in refused.html
    assert pages.decide("object/u99/0", form, "ann", role="reclock").status is HTTPStatus.NOT_FOUND
    assert decided(environment) == []
    assert claim_of(environment, id).decisions.is_reread is False
    assert pages.decide(path, form, "ann", role="reclock").status is HTTPStatus.SEE_OTHER
    # the source does not wait for it any more: it is reread at the next tick
    assert claim_of(environment, id).error is None or claim_of(environment, id).decisions.is_reread


@pytest.mark.parametrize(
    "path", ["nothing", "object/u99", "object/", "data-docs/none.html", "data-docs/../reclock.toml"]
)
def test_there_are_no_other_pages(pages: Pages, path: str) -> None:
    page = pages.get(path, "ann")
    assert page.status is HTTPStatus.NOT_FOUND
    assert 'href="/overview"' in page.html


def test_the_only_script_that_a_page_may_run_is_its_own(
    environment: Environment, pages: Pages
) -> None:
    id = stall(environment, "flights")
    for path in ("overview", f"object/{id}", f"object/{id}/0", "nothing"):
        page = pages.get(path, "ann")
        (script,) = re.findall("<script>(.*?)</script>", page.html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert page.policy.endswith(f"; script-src 'sha256-{digest}'")


def test_the_data_docs_lead_back_to_the_overview(environment: Environment, pages: Pages) -> None:
    folder = docs_folder(environment)
    folder.mkdir()
    from reclock.quality.docs import render_index  # Great Expectations: two seconds

    (folder / "index.html").write_text(render_index([]))
    page = pages.get("data-docs/index.html", "ann").html
    assert '<header class="bar"><a href="/overview">' in page
    assert FOLLOW_THEME in page

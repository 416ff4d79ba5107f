"""Settings that scripts and clients of PostgreSQL make: those that change nothing here, and those
of the client's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reclock.adapter.session.session import Session
from reclock.errors import InvalidOption, ReclockError
from reclock.runtime.environment import Environment

HEAD_OF_A_DUMP = """
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
SET default_with_oids = false;
"""
"""What pg_dump writes first: version 16, and until version 11 the last line."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Environment.initialise(tmp_path) as environment:
        yield Session(environment)


def values(session: Session, text: str) -> list[str | None]:
    """The first column of the last statement."""
    *_, last = [list(result.rows()) for result in session.execute(text)]
    return [row[0] for row in last]


def test_the_head_of_a_dump_runs(session: Session) -> None:
    values(session, HEAD_OF_A_DUMP)
    assert values(session, "SHOW xmloption") == ["content"]


def test_what_changes_nothing_is_shown_as_it_was_set(session: Session) -> None:
    assert values(session, "SHOW work_mem") == ["4MB"]
    assert values(session, "SET work_mem = '64MB'; SHOW work_mem") == ["64MB"]
    shown = "SELECT setting FROM pg_settings WHERE name = 'work_mem'"
    assert values(session, shown) == ["64MB"]
    assert values(session, "RESET work_mem; SHOW work_mem") == ["4MB"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("utf_8", "UTF8"), ("Unicode", "UTF8"), ("UTF-8", "UTF8"), ("sql_ascii", "SQL_ASCII")],
)
def test_texts_are_in_utf8(session: Session, name: str, shown: str) -> None:
    assert values(session, f"SET client_encoding = '{name}'; SHOW client_encoding") == [shown]


def test_another_encoding_is_refused_with_the_way_to_ask_for_utf8(session: Session) -> None:
    with pytest.raises(InvalidOption) as refused:
        values(session, "SET client_encoding = 'WIN1252'")
    assert "PGCLIENTENCODING=UTF8" in str(refused.value.hint)


@pytest.mark.parametrize("style", ["ISO", "mdy, iso", "US", "ISO, NonEuropean"])
def test_dates_are_read_with_the_month_before_the_day(session: Session, style: str) -> None:
    values(session, f"SET datestyle = '{style}'")
    assert values(session, "SHOW datestyle") == ["ISO, MDY"]
    assert values(session, "SELECT '2/10/1997'::date::text") == ["1997-02-10"]


@pytest.mark.parametrize("style", ["ISO, DMY", "YMD", "German", "SQL, MDY", ""])
def test_a_style_in_which_dates_mean_something_else_is_refused(
    session: Session, style: str
) -> None:
    with pytest.raises(ReclockError, match="invalid value for parameter") as refused:
        values(session, f"SET datestyle = '{style}'")
    assert refused.value.sqlstate == "22023"


def test_a_client_has_settings_of_its_own(session: Session) -> None:
    values(session, "SET App.tenant = 'ada'; SET LOCAL app.other = '1'")
    assert values(session, "SHOW app.tenant") == ["ada"]
    assert values(session, "SELECT current_setting('APP.TENANT')") == ["ada"]
    assert values(session, "SELECT set_config('app.tenant', 'bob', true)") == ["bob"]
    assert values(session, "SHOW app.tenant") == ["ada"]
    with pytest.raises(ReclockError, match=r'unrecognized configuration parameter "app\.none"'):
        values(session, "SHOW app.none")
    assert values(session, "SELECT current_setting('app.none', true)") == [None]
    assert values(session, "BEGIN; SET LOCAL app.tenant = ''; SHOW app.tenant") == [""]
    values(session, "SET app.tenant = 'eve'; ROLLBACK")
    assert values(session, "SHOW app.tenant") == ["ada"]


def test_roles_have_defaults_of_a_clients_settings(session: Session) -> None:
    values(session, "ALTER ROLE reclock SET app.tenant = 'ada'")
    later = Session(session.environment)
    assert values(later, "SHOW app.tenant") == ["ada"]
    assert values(later, "SET app.tenant = 'bob'; RESET app.tenant; SHOW app.tenant") == ["ada"]


def test_sizes_are_of_relations_by_name_or_number(session: Session) -> None:
    values(session, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    by_name = "pg_relation_size('t'), pg_total_relation_size('public.t'::regclass)"
    assert values(session, f"SELECT ROW({by_name})::text")[0] is not None
    assert values(session, "SELECT pg_table_size(oid) >= 0 FROM pg_class WHERE relname = 't'") == [
        True
    ]
    with pytest.raises(ReclockError, match='relation "nope" does not exist'):
        values(session, "SELECT pg_relation_size('nope')")


@pytest.mark.parametrize(
    ("variable", "written", "expected"),
    [
        ("statement_timeout", "500ms", "500ms"),
        ("statement_timeout", "1.5s", "1500ms"),
        ("statement_timeout", "2 min", "2min"),
        ("statement_timeout", "60min", "1h"),
        ("statement_timeout", "48h", "2d"),
        ("statement_timeout", "250", "250ms"),
        ("lock_timeout", "1500us", "2ms"),
        ("statement_timeout", "0", "0"),
        ("lock_timeout", "3000", "3s"),
        ("max_result_size", "8192kB", "8MB"),
        ("max_result_size", "3", "3B"),
        ("max_result_size", "0", "0"),
    ],
)
def test_a_setting_is_shown_in_its_largest_unit(
    session: Session, variable: str, written: str, expected: str
) -> None:
    assert values(session, f"SET {variable} = '{written}'; SHOW {variable}") == [expected]
    assert values(session, f"SET {variable} = '{expected}'; SHOW {variable}") == [expected]

"""Lists and maps in tables, and the types that CREATE TYPE names: stored, changed, maintained, and
never taken away from what uses them."""

from __future__ import annotations

import pytest
from fixtures.sessions import run

from reclock.adapter.context.texts import writer
from reclock.adapter.session.session import Session
from reclock.errors import DependentObjects, ReclockError, UnsupportedSql, WrongObjectType
from reclock.runtime.environment import Environment


@pytest.fixture
def session(environment: Environment) -> Session:
    return Session(environment)


def shown(session: Session, query: str) -> list[list[str | None]]:
    """The rows of the query, as texts."""
    [result] = session.execute(query)
    assert result.desc is not None
    writers = [writer(type) for type in result.desc.types]
    return [
        [None if value is None else write(value) for value, write in zip(row, writers, strict=True)]
        for row in result.rows()
    ]


TABLE = """
CREATE TABLE p (id int PRIMARY KEY, l int list DEFAULT LIST[0], n text list list,
    m map[text=>numeric(5,2)], d map[text=>map[text=>float8 list]], z timestamptz list);
INSERT INTO p VALUES
    (1, '{1,NULL}', '{{a},{}}', '{b=>1,a=>2.5}', '{k=>{x=>{-0,1.5}}}', '{2020-01-01 12:00+02}'),
    (2, LIST[3], LIST[['b'], NULL], MAP['a' => 7], '{y=>{z=>NULL}}', NULL),
    (3, NULL, NULL, NULL, NULL, NULL);
INSERT INTO p (id) VALUES (4)
"""


def test_tables_hold_lists_and_maps(session: Session) -> None:
    run(session, TABLE)
    answered = shown(session, "SELECT * FROM p ORDER BY id")
    assert answered == [
        [
            *("1", "{1,NULL}", "{{a},{}}", "{a=>2.50,b=>1.00}", "{k=>{x=>{0,1.5}}}"),
            '{"2020-01-01 10:00:00+00"}',
        ],
        ["2", "{3}", "{{b},NULL}", "{a=>7.00}", "{y=>{z=>NULL}}", None],
        ["3", None, None, None, None, None],
        ["4", "{0}", None, None, None, None],
    ]
    run(session, "UPDATE p SET l = l || id, m = map_build(LIST[ROW('n', 1.5)]) WHERE id < 3")
    run(session, "DELETE FROM p WHERE l @> LIST[2]")
    assert shown(session, "SELECT id, l, m FROM p ORDER BY id") == [
        ["1", "{1,NULL,1}", "{n=>1.50}"],
        ["3", None, None],
        ["4", "{0}", None],
    ]


def test_maintained_views_follow_their_changes(session: Session) -> None:
    run(
        session,
        TABLE + "; CREATE MATERIALIZED VIEW by_list AS SELECT l, list_agg(id) AS ids, "
        "map_agg(id::text, m -> 'a') AS m FROM p GROUP BY l; "
        "CREATE MATERIALIZED VIEW parts AS SELECT id, key, value FROM p, unnest(m);"
        "CREATE MATERIALIZED VIEW alike AS SELECT a.id, b.id AS other FROM p a JOIN p b "
        "ON a.l = b.l AND a.m IS NOT DISTINCT FROM b.m WHERE a.id < b.id",
    )
    run(session, "INSERT INTO p (id, l, m) VALUES (5, '{3}', '{a=>7}'), (6, '{1,NULL}', '{}')")
    run(session, "DELETE FROM p WHERE id = 1")
    assert shown(session, "SELECT * FROM by_list ORDER BY l") == [
        ["{0}", "{4}", "{4=>NULL}"],
        ["{1,NULL}", "{6}", "{6=>NULL}"],
        ["{3}", "{2,5}", "{2=>7.00,5=>7.00}"],
        [None, "{3}", "{3=>NULL}"],
    ]
    assert shown(session, "SELECT * FROM parts ORDER BY id, key") == [
        ["2", "a", "7.00"],
        ["5", "a", "7.00"],
    ]
    assert shown(session, "SELECT * FROM alike") == [["2", "5"]]


def test_named_types_are_those_that_they_name(session: Session) -> None:
    run(
        session,
        "CREATE TYPE numbers AS LIST (ELEMENT TYPE = int4); "
        "CREATE TYPE grid AS LIST (ELEMENT TYPE = numbers); "
        "CREATE TYPE prices AS MAP (VALUE TYPE = numbers, KEY TYPE = text); "
        "CREATE TABLE q (a numbers, b grid, c prices); "
        "INSERT INTO q VALUES ('{1}', '{{1},{2,3}}', '{k=>{4}}')",
    )
    select = "SELECT a || 2, b[2][1], c -> 'k', pg_typeof(a), pg_typeof(b[1]), pg_typeof(a::int list) FROM q"
    assert shown(session, select) == [
        ["{1,2}", "2", "{4}", "numbers", "integer list", "integer list"]
    ]
    assert shown(session, "SHOW TYPES") == [["grid"], ["numbers"], ["prices"]]
    [[_, text]] = shown(session, "SHOW CREATE TYPE prices")
    assert text == (
        "CREATE TYPE reclock.public.prices AS MAP (KEY TYPE = TEXT, "
        "VALUE TYPE = reclock.public.numbers)"
    )
    with pytest.raises(DependentObjects, match=r'"reclock\.public\.grid" depends on it'):
        run(session, "DROP TYPE numbers")
    with pytest.raises(WrongObjectType):
        run(session, "ALTER DOMAIN numbers SET NOT NULL")
    run(session, "DROP TABLE q; DROP TYPE grid, prices; DROP TYPE numbers")
    with pytest.raises(ReclockError, match='type "numbers" does not exist'):
        run(session, "SELECT '{1}'::numbers")


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        ("CREATE TYPE n AS LIST ()", "42601"),
        ("CREATE TYPE n AS MAP (KEY TYPE = text)", "42601"),
        ("CREATE TYPE n AS MAP (KEY TYPE = int, VALUE TYPE = int)", "42804"),
        ("CREATE TYPE n AS LIST (ELEMENT TYPE = nope)", "42704"),
        ("CREATE TYPE n AS LIST (ELEMENT TYPE = int[])", "0A000"),
        ("CREATE TYPE n AS LIST (ELEMENT TYPE = positive)", "0A000"),
        ("CREATE TYPE n AS LIST (ELEMENT TYPE = brief)", "0A000"),
        ("CREATE TYPE n AS RANGE (SUBTYPE = int)", "0A000"),
        ("CREATE TYPE positive AS LIST (ELEMENT TYPE = int)", "42710"),
    ],
)
def test_what_names_no_type_is_refused(session: Session, statement: str, sqlstate: str) -> None:
    run(
        session,
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0); "
        "CREATE DOMAIN brief AS int list CHECK (list_length(VALUE) < 3)",
    )
    with pytest.raises(ReclockError) as refused:
        run(session, statement)
    assert refused.value.sqlstate == sqlstate


def test_sources_and_sinks_have_none(session: Session) -> None:
    run(session, TABLE)
    with pytest.raises(UnsupportedSql, match="a source cannot have"):
        run(
            session,
            "CREATE SOURCE s (a int list) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' "
            "FORMAT JSON",
        )

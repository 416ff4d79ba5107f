"""What statements other than definitions are planned to: what SHOW lists, session statements and times."""

from __future__ import annotations

import pytest
from fixtures.planning import World

from reclock.errors import ReclockError
from reclock.sql.statements.query.values import AsOf, Explain, ExplainKind
from reclock.sql.statements.session.plan import ResetVariable, SetVariable, ShowVariable
from reclock.sql.statements.transactions.plan import TransactionControl


def rows_of(world: World, sql: str) -> list[tuple[object, ...]]:
    """The rows that a SHOW without a filter lists."""
    plan = world.select(sql).plan
    return sorted(getattr(plan, "rows", None) or plan.input.rows)  # type: ignore[union-attr]


def test_what_show_lists(world: World) -> None:
    world.execute(
        "CREATE MATERIALIZED VIEW m AS SELECT carrier, name FROM airlines; CREATE INDEX "
        "i IN CLUSTER other ON delays (flights)"
    )
    assert rows_of(world, "SHOW SOURCES") == [
        ("airlines", "s3"),
        ("flights", "s3"),
        ("weather", "s3"),
    ]
    assert rows_of(world, "SHOW VIEWS") == [("delays",), ("m",)]
    assert rows_of(world, "SHOW MATERIALIZED VIEWS") == [("delays", "other"), ("m", "default")]
    assert rows_of(world, "SHOW MATERIALIZED VIEWS IN CLUSTER default") == [("m", "default")]
    assert rows_of(world, "SHOW INDEXES") == [
        ("default", "m", "m_primary_idx", 1, "carrier", None, False),
        ("default", "m", "m_primary_idx", 2, "name", None, True),
        ("other", "delays", "i", 1, "flights", None, False),
    ]
    assert rows_of(world, "SHOW INDEXES FROM delays IN CLUSTER other") == [
        ("other", "delays", "i", 1, "flights", None, False)
    ]
    assert {("m_primary_idx", "index"), ("m", "materialized_view")} <= set(
        rows_of(world, "SHOW OBJECTS")
    )
    assert ("flights_progress", "source_progress") in rows_of(
        world, "SHOW OBJECTS FROM reclock.public"
    )
    assert rows_of(world, "SHOW OBJECTS FROM mz_catalog") == [("mz_sources", "table")]
    assert rows_of(world, "SHOW DATABASES") == [("reclock",)]
    assert ("lab",) in rows_of(world, "SHOW SCHEMAS")
    assert rows_of(world, "SHOW CLUSTERS") == [("default",), ("other",), ("sized",)]
    assert world.select("SHOW COLUMNS FROM airlines").desc.names == ("name", "nullable", "type")
    (created,) = rows_of(world, "SHOW CREATE MATERIALIZED VIEW m")
    assert created[1] == (
        "CREATE MATERIALIZED VIEW reclock.public.m IN CLUSTER default AS SELECT carrier, "
        "name FROM reclock.public.airlines"
    )
    (created,) = rows_of(world, "SHOW CREATE INDEX i")
    assert created == (
        "reclock.public.i",
        "CREATE INDEX i IN CLUSTER other ON reclock.public.delays (flights)",
    )


def test_a_filter_of_show_is_typed(world: World) -> None:
    assert (
        world.explained("SHOW SOURCES LIKE 'fl%'").splitlines()[1] == "  Filter (name like 'fl%')"
    )
    assert (
        world.explained("SHOW INDEXES WHERE seq_in_index > 1.5")
        .splitlines()[1]
        .startswith("  Filter (seq_in_index::numeric")
    )
    with pytest.raises(ReclockError, match="must be type boolean"):
        world.plan("SHOW SOURCES WHERE name")


def test_session_statements(world: World) -> None:
    assert world.plan("SET cluster = Other") == SetVariable("cluster", ("other",))
    assert world.plan("SET LOCAL search_path TO a, \"B\", 'c'") == SetVariable(
        "search_path", ("a", "B", "c"), True
    )
    assert world.plan("SET x = true") == SetVariable("x", ("on",))
    assert world.plan("SET x TO DEFAULT") == SetVariable("x", None)
    assert world.plan("RESET ALL") == ResetVariable(None)
    assert world.plan("SHOW Cluster") == ShowVariable("cluster")
    assert world.plan("SHOW ALL") == ShowVariable(None)
    assert world.plan("START TRANSACTION READ ONLY") == TransactionControl(
        "START TRANSACTION", access="READ ONLY"
    )
    assert world.plan("ABORT") == TransactionControl("ROLLBACK")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1649686079488", 1649686079488),
        ("'1649686079488'", 1649686079488),
        ("'2022-04-11 14:07:59.488'", 1649686079488),
        ("TIMESTAMP '2022-04-11 14:07:59.488'", 1649686079488),
        ("'2022-04-11 16:07:59.488999+02'", 1649686079488),
        ("DATE '1970-01-02'", 86_400_000),
        ("5.0", 5),
        ("0", 0),
    ],
)
def test_a_time_to_read_at(world: World, text: str, at: int) -> None:
    assert world.select(f"SELECT 1 AS OF {text}").as_of == AsOf(at)  # type: ignore[arg-type]
    assert world.select(f"SELECT 1 AS OF AT LEAST {text}").as_of == AsOf(at, is_at_least=True)  # type: ignore[arg-type]
    explain = world.plan(f"EXPLAIN TIMESTAMP FOR SELECT 1 AS OF {text}")
    assert isinstance(explain, Explain)
    assert explain.kind is ExplainKind.TIMESTAMP
    assert explain.select.as_of == AsOf(at)  # type: ignore[arg-type]

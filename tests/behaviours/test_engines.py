"""What every engine promises: a plan has the same answer on all, to the last digit and of the same
types, or the same error."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures.engines import answer, constant, multiset, reduce, ref
from fixtures.plans import NAN, aggregate, call, computed, desc_of, lit

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    TEXT,
    Column,
    RelationDesc,
    numeric,
)
from reclock.compute.engines.engine import Engine
from reclock.errors import EvaluationError
from reclock.plan.relational import (
    Constant,
    Distinct,
    Except,
    Filter,
    Finishing,
    FlatMap,
    Frame,
    Intersect,
    Join,
    JoinKind,
    Map,
    MutualRecursion,
    Ordering,
    Project,
    TopK,
    Union,
    Window,
    WindowFunction,
    WorkTable,
)
from reclock.plan.scalars import Aggregate, Cast, ColumnRef

LEFT = constant([INTEGER, TEXT], (1, "a"), (2, "b"), (2, "b"), (None, "n"), (4, None))
RIGHT = constant([INTEGER, INTEGER], (2, 10), (2, 20), (None, 30), (5, 50))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (JoinKind.INNER, [(2, "b", 2, 20)] * 2),
        (
            JoinKind.LEFT,
            [(2, "b", 2, 20)] * 2
            + [(1, "a", None, None), (None, "n", None, None), (4, None, None, None)],
        ),
        (
            JoinKind.RIGHT,
            [(2, "b", 2, 20)] * 2
            + [(None, None, 2, 10), (None, None, None, 30), (None, None, 5, 50)],
        ),
        (
            JoinKind.FULL,
            [(2, "b", 2, 20)] * 2
            + [(1, "a", None, None), (None, "n", None, None), (4, None, None, None)]
            + [(None, None, 2, 10), (None, None, None, 30), (None, None, 5, 50)],
        ),
        (JoinKind.SEMI, [(2, "b")] * 2),
        (JoinKind.ANTI, [(1, "a"), (None, "n"), (4, None)]),
    ],
)
def test_joins_pair_equal_keys_and_keep_the_unpaired_as_their_kind_says(
    engine: Engine, kind: JoinKind, expected: list[Any]
) -> None:
    residual = (call(">", ColumnRef(3, INTEGER), 10),)
    shape = (
        desc_of(*LEFT.desc.types)
        if kind in (JoinKind.SEMI, JoinKind.ANTI)
        else desc_of(*LEFT.desc.types, *RIGHT.desc.types)
    )
    assert multiset(
        answer(engine, Join(LEFT, RIGHT, kind, ((0, 0),), residual, shape))
    ) == multiset(expected)


def test_a_join_without_keys_pairs_everything(engine: Engine) -> None:
    both = desc_of(*LEFT.desc.types, *RIGHT.desc.types)
    assert len(answer(engine, Join(LEFT, RIGHT, JoinKind.INNER, (), (), both))) == 20
    below = (call("<", ColumnRef(0, INTEGER), ColumnRef(2, INTEGER)),)
    assert len(answer(engine, Join(LEFT, RIGHT, JoinKind.INNER, (), below, both))) == 6
    assert multiset(
        answer(engine, Join(LEFT, RIGHT, JoinKind.ANTI, (), below, LEFT.desc))
    ) == multiset([(None, "n")])


def test_one_plan_read_twice_is_the_same_relation(engine: Engine) -> None:
    both = desc_of(*LEFT.desc.types, *LEFT.desc.types)
    assert len(answer(engine, Join(LEFT, LEFT, JoinKind.INNER, ((0, 0),), (), both))) == 6


def test_map_filter_and_project_keep_multiplicities(engine: Engine) -> None:
    mapped = Map(LEFT, (call("+", ColumnRef(0, INTEGER), 1),), desc_of(INTEGER, TEXT, INTEGER))
    filtered = Filter(mapped, (call(">", ColumnRef(2, INTEGER), 2),))
    turned = Project(filtered, (2, 0, 2), desc_of(INTEGER, INTEGER, INTEGER))
    assert multiset(answer(engine, turned)) == multiset([(3, 2, 3), (3, 2, 3), (5, 4, 5)])


def test_groups_count_null_as_a_value(engine: Engine) -> None:
    plan = reduce(LEFT, (0,), aggregate("count"), aggregate("count", ref(LEFT, 1)))
    assert multiset(answer(engine, plan)) == multiset(
        [(1, 1, 1), (2, 2, 2), (None, 1, 1), (4, 1, 0)]
    )
    assert multiset(answer(engine, reduce(LEFT, (0, 0)))) == multiset(
        [(1, 1), (2, 2), (None, None), (4, 4)]
    )


def test_without_groups_there_is_exactly_one_row(engine: Engine) -> None:
    nothing = constant([INTEGER, DOUBLE, TEXT, BOOLEAN])
    functions = [
        aggregate("count"),
        aggregate("sum", ref(nothing, 0)),
        aggregate("avg", ref(nothing, 0)),
        aggregate("sum", ref(nothing, 1)),
        aggregate("avg", ref(nothing, 1)),
        aggregate("min", ref(nothing, 2)),
        aggregate("string_agg", ref(nothing, 2), ","),
        aggregate("bool_and", ref(nothing, 3)),
        aggregate("stddev_samp", ref(nothing, 1)),
        aggregate("array_agg", ref(nothing, 0)),
    ]
    assert answer(engine, reduce(nothing, (), *functions)) == [(0, *[None] * 9)]
    assert (
        answer(engine, reduce(nothing, ())) == [()] or len(answer(engine, reduce(nothing, ()))) <= 1
    )
    one_row = Constant(((),), RelationDesc(()))
    assert answer(engine, Map(one_row, (lit(5),), desc_of(INTEGER))) == [(5,)]
    assert answer(engine, reduce(one_row, (), aggregate("count"))) == [(1,)]


def test_distinct_takes_nulls_and_nans_as_equal(engine: Engine) -> None:
    rows = constant([DOUBLE, TEXT], (NAN, None), (NAN, None), (1.0, "a"), (1.0, "A"))
    assert multiset(answer(engine, Distinct(rows))) == multiset(
        [(NAN, None), (1.0, "a"), (1.0, "A")]
    )


def test_multisets_add_subtract_and_intersect(engine: Engine) -> None:
    left = constant([INTEGER], (1,), (1,), (1,), (2,), (None,), (None,))
    other = constant([INTEGER], (1,), (3,), (None,), (None,), (None,))
    assert len(answer(engine, Union((left, other, other), left.desc))) == 16
    assert multiset(answer(engine, Except(left, other))) == multiset([(1,), (1,), (2,)])
    assert multiset(answer(engine, Intersect(left, other))) == multiset([(1,), (None,), (None,)])


def test_bindings_that_read_each_other_are_computed_until_they_stay_as_they_are(
    engine: Engine,
) -> None:
    """Even and odd numbers up to a most, which each follow from the other."""
    start, names = constant([INTEGER], (0,)), ("even", "odd")

    def block(result: int, most: int, *, returns_at_limit: bool = False) -> MutualRecursion:
        even, odd = (WorkTable(n, names[n], start.desc, is_binding=True) for n in range(2))
        low = Filter(even, (call("<", ref(even, 0), 4),))
        values = (
            Distinct(Union((start, computed(odd, call("+", ref(odd, 0), 1))), start.desc)),
            computed(low, call("+", ref(low, 0), 1)),
        )
        return MutualRecursion(values, (0, 1), names, result, most, returns_at_limit, start.desc)

    either = Union((block(0, 9), block(1, 9)), start.desc)
    assert sorted(answer(engine, either)) == [(0,), (1,), (2,), (3,), (4,)]
    # The fourth iteration changes nothing more.
    assert sorted(answer(engine, block(0, 4))) == [(0,), (2,), (4,)]
    assert sorted(answer(engine, block(1, 1, returns_at_limit=True))) == [(1,)]
    with pytest.raises(EvaluationError, match="did not end within 3 iterations"):
        answer(engine, block(0, 3))


RANKED = constant(
    [INTEGER, INTEGER, TEXT],
    (1, 5, "b"),
    (1, 5, "a"),
    (1, None, "z"),
    (1, 9, "c"),
    (2, 1, "x"),
    (2, 1, "x"),
    (None, 3, "n"),
    (2, 0, None),
)


def test_topk_takes_a_definite_part_of_each_group(engine: Engine) -> None:
    by_value = (Ordering(1, is_descending=True, nulls_first=True),)
    assert multiset(answer(engine, TopK(RANKED, (0,), by_value, 2, 1))) == multiset(
        [(1, 9, "c"), (1, 5, "a"), (2, 1, "x"), (2, 0, None)]
    )
    assert multiset(answer(engine, TopK(RANKED, (0,), by_value, None, 3))) == multiset(
        [(1, 5, "b")]
    )
    assert multiset(answer(engine, TopK(RANKED, (), (Ordering(1),), 2, 1))) == multiset(
        [(2, 1, "x"), (2, 1, "x")]
    )


def test_flat_map_has_a_row_for_each_place_up_to_the_end_of_the_longest_array(
    engine: Engine,
) -> None:
    input = constant([INTEGER, INTEGER], (1, 2), (3, 0), (None, 1))
    arrays = (call("series", 1, ref(input, 1)), call("array", ref(input, 0), ref(input, 0), 9))
    plan = FlatMap(input, (arrays[0],), desc_of(INTEGER, INTEGER, INTEGER))
    assert multiset(answer(engine, plan)) == multiset([(1, 2, 1), (1, 2, 2), (None, 1, 1)])
    both = FlatMap(input, arrays, desc_of(INTEGER, INTEGER, INTEGER, INTEGER))
    places: dict[tuple[int | None, int], list[int | None]] = {
        (1, 2): [1, 2, None],
        (3, 0): [None] * 3,
        (None, 1): [1, None, None],
    }
    expected = [
        (*row, a, b)
        for row, ones in places.items()
        for a, b in zip(ones, (row[0], row[0], 9), strict=True)
    ]
    assert multiset(answer(engine, both)) == multiset(expected)


def test_row_numbers_count_the_rows_of_each_group_in_their_order(engine: Engine) -> None:
    desc = RelationDesc((*RANKED.desc.columns, Column("place", BIGINT)))
    place = WindowFunction("row_number")
    by_value = Window(RANKED, (0,), (Ordering(1, is_descending=True),), place, desc)
    rows = answer(engine, by_value)
    for group in {row[0] for row in rows}:
        rows_of = sorted((row for row in rows if row[0] == group), key=lambda row: row[3])
        assert [row[3] for row in rows_of] == list(range(1, len(rows_of) + 1))
        values = [row[1] for row in rows_of if row[1] is not None]
        assert values == sorted(values, reverse=True)
    assert sorted(row[3] for row in answer(engine, Window(RANKED, (), (), place, desc))) == list(
        range(1, len(rows) + 1)
    )


ALIKE = Frame()


def test_window_functions_tell_of_rows_near_by(engine: Engine) -> None:
    table = constant(
        [INTEGER, INTEGER, TEXT],
        (1, 2, "b"),
        (1, 2, "a"),
        (1, 5, "c"),
        (1, None, "d"),
        (2, 7, None),
    )

    def window(
        type: Any,
        function: WindowFunction | Aggregate,
        group_by: tuple[int, ...] = (0,),
        frame: Frame = ALIKE,
        by: int = 1,
    ) -> list[Any]:
        desc = RelationDesc((*table.desc.columns, Column("said", type)))
        rows = answer(
            engine, Window(table, group_by, (Ordering(by),) if by else (), function, desc, frame)
        )
        return [
            row[3] for row in sorted(rows, key=lambda row: (row[0], row[1] is None, row[1], row[2]))
        ]

    assert window(BIGINT, WindowFunction("rank")) == [1, 1, 3, 4, 1]
    assert window(BIGINT, WindowFunction("dense_rank")) == [1, 1, 2, 3, 1]
    assert window(BIGINT, WindowFunction("rank"), ()) == [1, 1, 3, 5, 4]
    assert window(TEXT, WindowFunction("lag", 2)) == [None, "a", "b", "c", None]
    assert window(TEXT, WindowFunction("lead", 2, 2)) == ["c", "d", None, None, None]
    assert window(INTEGER, WindowFunction("lead", 1, 1, 0)) == [2, 5, None, 1, 2]
    assert window(TEXT, WindowFunction("first_value", 2)) == ["a", "a", "a", "a", None]
    assert window(TEXT, WindowFunction("first_value", 2), frame=Frame(0, None)) == [
        "a",
        "a",
        "c",
        "d",
        None,
    ]
    assert window(TEXT, WindowFunction("last_value", 2)) == ["b", "b", "c", "d", None]
    assert window(TEXT, WindowFunction("last_value", 2), frame=Frame(0, None)) == [
        "d",
        "d",
        "d",
        "d",
        None,
    ]
    assert window(TEXT, WindowFunction("last_value", 2), frame=Frame(-1, 1, False)) == [
        "b",
        "c",
        "d",
        "d",
        None,
    ]
    assert window(INTEGER, WindowFunction("ntile", offset=2)) == [1, 1, 2, 2, 1]
    assert window(DOUBLE, WindowFunction("percent_rank")) == [0, 0, 2 / 3, 1, 0]
    assert window(DOUBLE, WindowFunction("cume_dist")) == [0.5, 0.5, 0.75, 1, 1]

    total, several = aggregate("sum", ref(table, 1)), aggregate("count")
    assert window(BIGINT, total) == [4, 4, 9, 9, 7]
    assert window(BIGINT, total, by=0) == [9, 9, 9, 9, 7]
    assert window(BIGINT, total, ()) == [4, 4, 9, 16, 16]
    assert window(BIGINT, total, frame=Frame(-1, 0, False)) == [2, 4, 7, 5, 7]
    assert window(BIGINT, several, frame=Frame(0, None)) == [4, 4, 2, 1, 1]
    assert window(BIGINT, several, frame=Frame(-2, -1, False)) == [0, 1, 2, 2, 0]
    assert window(TEXT, aggregate("max", ref(table, 2)), (), Frame(None, None)) == ["d"] * 5
    assert window(numeric(38, 20), aggregate("avg", ref(table, 1)), frame=Frame(None, 0, False))[
        :3
    ] == [2, 2, 3]
    doubles = aggregate("sum", Cast(ref(table, 1), DOUBLE))
    assert window(DOUBLE, doubles) == [4, 4, 9, 9, 7]
    assert window(
        DOUBLE, aggregate("stddev_pop", Cast(ref(table, 1), DOUBLE)), frame=Frame(None, None)
    ) == [*[2**0.5] * 4, 0]


def test_finishing_orders_ties_by_the_remaining_columns_and_hides_what_was_only_ordered_by(
    engine: Engine,
) -> None:
    ordered = answer(engine, RANKED, finishing=Finishing((Ordering(1, nulls_first=True),)))
    assert ordered == [
        (1, None, "z"),
        (2, 0, None),
        (2, 1, "x"),
        (2, 1, "x"),
        (None, 3, "n"),
        (1, 5, "a"),
        (1, 5, "b"),
        (1, 9, "c"),
    ]
    hidden = Finishing(
        (Ordering(2, is_descending=True, nulls_first=True),), limit=3, offset=1, visible=2
    )
    assert answer(engine, RANKED, finishing=hidden) == [(1, None), (2, 1), (2, 1)]
    assert answer(engine, RANKED, finishing=Finishing(limit=2)) == [(1, 5, "a"), (1, 5, "b")]
    assert answer(engine, RANKED, finishing=Finishing(limit=0)) == []


def test_text_is_ordered_by_its_bytes(engine: Engine) -> None:
    table = constant(
        [TEXT], ("b",), ("B",), ("é",), ("z",), ("",), (" ",), ("a",), ("世",), ("👩",), ("ﬁ",)
    )
    assert [
        text for (text,) in answer(engine, table, finishing=Finishing((Ordering(0),)))
    ] == sorted((text for (text,) in table.rows), key=lambda text: text.encode())

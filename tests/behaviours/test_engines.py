"""What every engine promises: a plan has the same answer on all, to the last digit and of the same
types, or the same error."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from itertools import islice
from math import ceil
from typing import Any

import pytest
from fixtures.corpus import CORPUS
from fixtures.engines import ALL, AT, answer, constant, multiset, reduce, ref
from fixtures.plans import (
    NAN,
    ROWS,
    VALUES,
    aggregate,
    call,
    cast,
    column,
    computed,
    desc_of,
    get,
    lit,
    table,
)

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    REAL,
    SMALLINT,
    TEXT,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    numeric,
)
from reclock.compute.engines.engine import Engine, TableInput
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions import AGGREGATES, SCALARS
from reclock.plan.functions.casts import write_cast
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
from reclock.plan.scalars import Aggregate, Case, Cast, ColumnRef, Scalar

# --- functions ---


@pytest.mark.spark
@pytest.mark.parametrize(
    "labels",
    [tuple(islice(CORPUS, n, n + 40)) for n in range(0, len(CORPUS), 40)],
    ids=lambda labels: labels[0],
)
def test_functions_and_casts_have_the_same_values_and_types_on_both_engines(
    labels: tuple[str, ...], duckdb_engine: Engine, spark_engine: Engine
) -> None:
    plan = computed(get(), *(CORPUS[label] for label in labels))
    inputs = {VALUES: TableInput(table())}
    one, other = (
        engine.run(plan, ALL, inputs, AT).batches.read_all()
        for engine in (duckdb_engine, spark_engine)
    )
    assert one.schema == other.schema
    for index, label in enumerate(labels):
        values = [
            [repr(value) for value in answered.column(index).to_pylist()]
            for answered in (one, other)
        ]
        assert values[0] == values[1], label


def test_the_corpus_calls_every_function() -> None:
    def calls(scalar: Any) -> Iterator[str]:
        if hasattr(scalar, "function"):
            yield scalar.function
        for part in (
            getattr(scalar, "operand", None),
            *getattr(scalar, "arguments", ()),
            getattr(scalar, "otherwise", None),
        ):
            if part is not None:
                yield from calls(part)
        for condition, result in getattr(scalar, "branches", ()):
            yield from calls(condition)
            yield from calls(result)

    called = {name for scalar in CORPUS.values() for name in calls(scalar)}
    synonyms = {"ceiling", "char_length", "character_length", "btrim", "substr"}
    inexact = {"exp", "ln", "log", "log10", "power", "degrees", "radians"}
    inexact |= {"sin", "cos", "tan", "cot", "asin", "acos", "atan", "atan2"}
    inexact |= {"sinh", "cosh", "tanh", "asinh", "acosh", "atanh"}
    not_on_spark = {"json_build_object"}
    random = {"gen_random_uuid"}
    assert set(SCALARS) - called - synonyms - inexact - not_on_spark - random == set()


@pytest.mark.spark
def test_every_letter_of_unicode_has_the_same_case_on_both_engines(
    duckdb_engine: Engine, spark_engine: Engine
) -> None:
    letters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    chunks = ["|".join(letters[start : start + 1000]) for start in range(0, len(letters), 1000)]
    desc = desc_of(INTEGER, TEXT)
    inputs = {VALUES: TableInput(table(desc, enumerate(chunks)))}
    text = ColumnRef(1, TEXT)
    plan = computed(get(desc=desc), ColumnRef(0, INTEGER), call("lower", text), call("upper", text))
    one, other = (
        engine.run(plan, ALL, inputs, AT).batches.read_all().sort_by("e0")
        for engine in (duckdb_engine, spark_engine)
    )
    assert one.num_rows == len(chunks)
    assert one == other


ERRORS: dict[str, tuple[Callable[[], Scalar], str]] = {
    "integer overflow": (lambda: call("+", column("i"), 2**31 - 1), "22003"),
    "product": (
        lambda: call("*", column("m"), cast(lit(Decimal(10**30)), numeric(38, 0))),
        "22003",
    ),
    "digits of a product": (
        lambda: call(
            "*",
            call("+", column("m"), Decimal("0.000000001")),
            cast(Decimal("1.0000000001"), numeric(38, 17)),
        ),
        "22003",
    ),
    "digits of a numeric": (
        lambda: cast(call("*", column("n"), Decimal("0.0000000001")), numeric()),
        "22003",
    ),
    "digits of a text": (lambda: cast(call("concat", "1.2e-1", column("i")), numeric()), "22003"),
    "digits of a double": (lambda: cast(call("/", column("y"), 3.0), numeric()), "22003"),
    "double overflow": (lambda: call("*", column("x"), 1e308), "22003"),
    "double sum overflow": (lambda: call("+", call("*", column("y"), 1.7e308), 1.7e308), "22003"),
    "double quotient overflow": (lambda: call("/", column("x"), 1e-308), "22003"),
    "real overflow": (lambda: call("*", column("r"), cast(3e38, REAL)), "22003"),
    "double too large for real": (lambda: cast(call("*", column("x"), 1e300), REAL), "22003"),
    "power overflow": (lambda: call("power", call("*", column("x"), 1e200), 2.0), "22003"),
    "zero to a negative power": (
        lambda: call("power", call("*", column("y"), 0.0), call("negate", 1.0)),
        "2201F",
    ),
    "negative to a fraction": (
        lambda: call("power", call("negate", call("abs", column("x"))), 0.5),
        "2201F",
    ),
    "exponential overflow": (lambda: call("exp", call("*", column("x"), 1000.0)), "22003"),
    "too long for varchar": (lambda: call("within_length", column("t"), 4, False), "22001"),
    "too long for char": (lambda: call("within_length", column("t"), 4, True), "22001"),
    "smallint overflow": (lambda: call("+", column("s"), cast(lit(32767), SMALLINT)), "22003"),
    "integer division by zero": (
        lambda: call("/", column("i"), call("-", column("j"), column("j"))),
        "22012",
    ),
    "remainder by zero": (
        lambda: call("%", column("i"), call("-", column("j"), column("j"))),
        "22012",
    ),
    "double division by zero": (
        lambda: call("/", column("x"), call("*", column("y"), 0.0)),
        "22012",
    ),
    "numeric division by zero": (
        lambda: call("/", column("n"), call("-", column("n"), column("n"))),
        "22012",
    ),
    "negation of the least": (
        lambda: call("negate", call("-", call("-", -(2**31) + 1, column("i")), -6)),
        "22003",
    ),
    "absolute value of the least": (
        lambda: call("abs", call("-", call("-", -(2**31) + 1, column("i")), -6)),
        "22003",
    ),
    "least by minus one": (
        lambda: call("/", call("-", call("-", -(2**31) + 1, column("i")), -6), -1),
        "22003",
    ),
    "square root": (lambda: call("sqrt", call("negate", call("abs", column("y")))), "2201F"),
    "logarithm": (lambda: call("ln", call("*", column("y"), 0.0)), "2201E"),
    "negative length": (lambda: call("substring", column("t"), 1, -1), "22011"),
    "field zero": (lambda: call("split_part", column("t"), column("u"), 0), "22023"),
    "not a number": (lambda: cast(column("t"), INTEGER), "22P02"),
    "fraction as integer": (lambda: cast(call("concat", "4.", column("i")), INTEGER), "22P02"),
    "integer with an exponent": (lambda: cast(call("concat", column("i"), "e3"), INTEGER), "22P02"),
    "text beyond an integer": (
        lambda: cast(call("concat", column("i"), "9999999999"), INTEGER),
        "22003",
    ),
    "double with a suffix": (lambda: cast(call("concat", column("i"), "d"), DOUBLE), "22P02"),
    "not a boolean": (lambda: cast(column("t"), BOOLEAN), "22P02"),
    "not a date": (lambda: cast(call("concat", column("t"), "2020-01-01"), DATE), "22007"),
    "no such day": (
        lambda: cast(call("replace", call("concat", "2021-02-", column("t")), "hello", "30"), DATE),
        "22008",
    ),
    "no such time": (
        lambda: cast(
            call("replace", call("concat", "2021-02-01 ", column("t")), "hello", "25:00"),
            TIMESTAMPTZ,
        ),
        "22008",
    ),
    "no such date": (
        lambda: call("make_date", 2021, 2, call("+", call("*", column("j"), 0), 30)),
        "22008",
    ),
    "bigint too large for integer": (lambda: cast(call("+", column("l"), 2**40), INTEGER), "22003"),
    "double too large for bigint": (lambda: cast(call("*", column("y"), 1e300), BIGINT), "22003"),
    "NaN as integer": (lambda: cast(call("*", column("y"), NAN), INTEGER), "22003"),
    "numeric too narrow": (lambda: cast(call("+", column("n"), 1000), numeric(5, 3)), "22003"),
    "double too large for numeric": (
        lambda: cast(call("*", column("y"), 1e20), numeric(20, 2)),
        "22003",
    ),
    "NaN as numeric": (lambda: cast(call("*", column("y"), NAN), numeric(20, 2)), "22003"),
}


@pytest.mark.parametrize("label", ERRORS)
def test_a_value_that_does_not_fit_is_an_error_with_postgresqls_code(
    label: str, engine: Engine
) -> None:
    scalar, sqlstate = ERRORS[label]
    inputs = {VALUES: TableInput(table(rows=ROWS[:1]))}
    with pytest.raises(EvaluationError) as raised:
        answer(engine, computed(get(), scalar()), inputs)
    assert raised.value.sqlstate == sqlstate, (raised.value, raised.value.detail)


def test_a_branch_that_is_not_taken_cannot_fail(engine: Engine) -> None:
    guarded = Case(
        ((call("=", column("j"), 2), lit(0)),),
        call("/", column("i"), call("-", column("j"), 2)),
        INTEGER,
    )
    plan = computed(get(), guarded)
    assert answer(engine, plan, {VALUES: TableInput(table(rows=ROWS[:1]))}) == [(0,)]


def test_the_text_of_a_double_is_left_to_duckdb(duckdb_engine: Engine) -> None:
    given = constant([DOUBLE], (1.0,), (0.1,), (1e20,), (NAN,), (float("-inf"),), (None,))
    assert multiset(answer(duckdb_engine, computed(given, cast(ref(given, 0), TEXT)))) == multiset(
        [("1",), ("0.1",), ("1e+20",), ("NaN",), ("-Infinity",), (None,)]
    )
    with pytest.raises(UnsupportedSql):
        write_cast("spark", "x", DOUBLE, TEXT)


# --- operators ---


LEFT = constant([INTEGER, TEXT], (1, "a"), (2, "b"), (2, "b"), (None, "n"), (4, None))
RIGHT = constant([INTEGER, INTEGER], (2, 10), (2, 20), (None, 30), (5, 50))


@pytest.mark.parametrize(
    ("kind", "wanted"),
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
    engine: Engine, kind: JoinKind, wanted: list[Any]
) -> None:
    residual = (call(">", ColumnRef(3, INTEGER), 10),)
    shape = (
        desc_of(*LEFT.desc.types)
        if kind in (JoinKind.SEMI, JoinKind.ANTI)
        else desc_of(*LEFT.desc.types, *RIGHT.desc.types)
    )
    assert multiset(
        answer(engine, Join(LEFT, RIGHT, kind, ((0, 0),), residual, shape))
    ) == multiset(wanted)


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
    kept = Filter(mapped, (call(">", ColumnRef(2, INTEGER), 2),))
    turned = Project(kept, (2, 0, 2), desc_of(INTEGER, INTEGER, INTEGER))
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


def test_aggregates_are_exact_and_do_not_depend_on_order(engine: Engine) -> None:
    dice = random.Random(7)
    doubles = [dice.uniform(-1, 1) * 10 ** dice.randint(-8, 8) for _ in range(2000)]
    given = [
        (i % 3, i * 10**15, x, Decimal(i) / 8, f"t{i % 7}", i % 2 == 0)
        for i, x in enumerate(doubles)
    ]
    dice.shuffle(given)
    source = constant([INTEGER, BIGINT, DOUBLE, numeric(12, 3), TEXT, BOOLEAN])
    inputs = {VALUES: TableInput(table(source.desc, given))}
    plan = get(desc=source.desc)
    odd = call("not", ColumnRef(5, BOOLEAN))
    reduced = reduce(
        plan,
        (0,),
        aggregate("sum", ref(plan, 1)),
        aggregate("avg", ref(plan, 1)),
        aggregate("sum", ref(plan, 2)),
        aggregate("avg", ref(plan, 2)),
        aggregate("sum", ref(plan, 2), filter=odd),
        aggregate("sum", ref(plan, 3)),
        aggregate("avg", ref(plan, 3)),
        aggregate("count", ref(plan, 4), is_distinct=True),
        aggregate("sum", ref(plan, 3), is_distinct=True),
        aggregate("string_agg", ref(plan, 4), "-", is_distinct=True),
        aggregate("max", ref(plan, 4), filter=odd),
        aggregate("bool_or", ref(plan, 5)),
        aggregate("variance", ref(plan, 2)),
        aggregate("stddev_pop", ref(plan, 2), filter=odd),
        aggregate("percentile_cont", ref(plan, 2), 0.3),
        aggregate("percentile_disc", ref(plan, 1), 0.5),
    )

    def of_group(group: int) -> tuple[Any, ...]:
        mine = [row for row in given if row[0] == group]
        xs = sorted(row[2] for row in mine)
        odd_xs = sorted(row[2] for row in mine if not row[5])
        mean, odd_mean = sum(xs) / len(xs), sum(odd_xs) / len(odd_xs)
        squares = sum(((x - mean) * (x - mean) for x in xs), 0.0)
        odd_squares = sum(((x - odd_mean) * (x - odd_mean) for x in odd_xs), 0.0)
        place = 0.3 * (len(xs) - 1)
        total, exact = sum(row[1] for row in mine), sum(row[3] for row in mine)
        digits = Decimal("1e-18")
        return (
            group,
            Decimal(total),
            (Decimal(total) / len(mine)).quantize(digits),
            sum(xs),
            mean,
            sum(odd_xs),
            exact,
            (exact / len(mine)).quantize(digits),
            7,
            exact,
            "-".join(sorted({row[4] for row in mine})),
            "t6",
            True,
            squares / (len(xs) - 1),
            (odd_squares / len(odd_xs)) ** 0.5,
            xs[int(place)] + (xs[int(place) + 1] - xs[int(place)]) * (place - int(place)),
            sorted(row[1] for row in mine)[ceil(0.5 * len(mine)) - 1],
        )

    with localcontext(prec=60):
        wanted = [of_group(group) for group in range(3)]
    answered = sorted(answer(engine, reduced, inputs))
    for one, other in zip(answered, wanted, strict=True):
        assert one == other


def test_distinct_takes_nulls_and_nans_as_equal(engine: Engine) -> None:
    given = constant([DOUBLE, TEXT], (NAN, None), (NAN, None), (1.0, "a"), (1.0, "A"))
    assert multiset(answer(engine, Distinct(given))) == multiset(
        [(NAN, None), (1.0, "a"), (1.0, "A")]
    )


def test_multisets_add_subtract_and_intersect(engine: Engine) -> None:
    one = constant([INTEGER], (1,), (1,), (1,), (2,), (None,), (None,))
    other = constant([INTEGER], (1,), (3,), (None,), (None,), (None,))
    assert len(answer(engine, Union((one, other, other), one.desc))) == 16
    assert multiset(answer(engine, Except(one, other))) == multiset([(1,), (1,), (2,)])
    assert multiset(answer(engine, Intersect(one, other))) == multiset([(1,), (None,), (None,)])


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
    with pytest.raises(EvaluationError, match="exceeded the recursion limit 3"):
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
    places = {(1, 2): [1, 2, None], (3, 0): [None] * 3, (None, 1): [1, None, None]}
    wanted = [
        (*row, a, b)
        for row, ones in places.items()
        for a, b in zip(ones, (row[0], row[0], 9), strict=True)
    ]
    assert multiset(answer(engine, both)) == multiset(wanted)


def test_row_numbers_count_the_rows_of_each_group_in_their_order(engine: Engine) -> None:
    desc = RelationDesc((*RANKED.desc.columns, Column("place", BIGINT)))
    place = WindowFunction("row_number")
    by_value = Window(RANKED, (0,), (Ordering(1, is_descending=True),), place, desc)
    found = answer(engine, by_value)
    for group in {row[0] for row in found}:
        rows_of = sorted((row for row in found if row[0] == group), key=lambda row: row[3])
        assert [row[3] for row in rows_of] == list(range(1, len(rows_of) + 1))
        values = [row[1] for row in rows_of if row[1] is not None]
        assert values == sorted(values, reverse=True)
    assert sorted(row[3] for row in answer(engine, Window(RANKED, (), (), place, desc))) == list(
        range(1, len(found) + 1)
    )


ALIKE = Frame()


def test_window_functions_tell_of_rows_near_by(engine: Engine) -> None:
    given = constant(
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
        desc = RelationDesc((*given.desc.columns, Column("said", type)))
        found = answer(
            engine, Window(given, group_by, (Ordering(by),) if by else (), function, desc, frame)
        )
        return [
            row[3]
            for row in sorted(found, key=lambda row: (row[0], row[1] is None, row[1], row[2]))
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

    total, several = aggregate("sum", ref(given, 1)), aggregate("count")
    assert window(BIGINT, total) == [4, 4, 9, 9, 7]
    assert window(BIGINT, total, by=0) == [9, 9, 9, 9, 7]
    assert window(BIGINT, total, ()) == [4, 4, 9, 16, 16]
    assert window(BIGINT, total, frame=Frame(-1, 0, False)) == [2, 4, 7, 5, 7]
    assert window(BIGINT, several, frame=Frame(0, None)) == [4, 4, 2, 1, 1]
    assert window(BIGINT, several, frame=Frame(-2, -1, False)) == [0, 1, 2, 2, 0]
    assert window(TEXT, aggregate("max", ref(given, 2)), (), Frame(None, None)) == ["d"] * 5
    assert window(numeric(38, 20), aggregate("avg", ref(given, 1)), frame=Frame(None, 0, False))[
        :3
    ] == [2, 2, 3]
    doubles = aggregate("sum", Cast(ref(given, 1), DOUBLE))
    assert window(DOUBLE, doubles) == [4, 4, 9, 9, 7]
    assert window(
        DOUBLE, aggregate("stddev_pop", Cast(ref(given, 1), DOUBLE)), frame=Frame(None, None)
    ) == [*[2**0.5] * 4, 0]


def test_arrays_of_a_group_are_ordered_by_what_they_are_told_then_by_value(engine: Engine) -> None:
    given = constant(
        [INTEGER, INTEGER, TEXT],
        (1, 2, "a"),
        (1, 1, "c"),
        (1, 1, "b"),
        (1, None, None),
        (2, 1, "z"),
    )
    plain, told = (
        aggregate("array_agg", ref(given, 2)),
        aggregate("array_agg", ref(given, 2), ref(given, 1), "ASC NULLS LAST"),
    )
    kept = aggregate("array_agg", ref(given, 2), filter=call("=", ref(given, 1), 1))
    last = aggregate(
        "array_agg",
        ref(given, 2),
        ref(given, 1),
        "DESC NULLS LAST",
        ref(given, 2),
        "DESC NULLS FIRST",
    )
    joined = aggregate(
        "string_agg",
        ref(given, 2),
        ",",
        ref(given, 1),
        "ASC NULLS FIRST",
        filter=call("=", ref(given, 0), 1),
    )
    unique = aggregate(
        "string_agg", ref(given, 2), ",", ref(given, 2), "DESC NULLS FIRST", is_distinct=True
    )
    plan = reduce(given, (0,), plain, told, kept, last, joined, unique)
    assert multiset(answer(engine, plan)) == multiset(
        [
            (
                1,
                ["a", "b", "c", None],
                ["b", "c", "a", None],
                ["b", "c"],
                ["a", "c", "b", None],
                "b,c,a",
                "c,b,a",
            ),
            (2, ["z"], ["z"], ["z"], ["z"], None, "z"),
        ]
    )


def test_aggregates_of_bits_and_of_pairs(engine: Engine) -> None:
    rows = [
        (1, 6, 1.0, 2.0),
        (1, 3, 2.0, 3.0),
        (1, 3, 3.0, 7.0),
        (1, None, None, 9.0),
        (2, 5, 0.5, None),
        (3, 1, 0.1, 4.0),
    ]
    given = constant([INTEGER, INTEGER, DOUBLE, DOUBLE], *rows, (3, 2, 0.1, 5.0))
    bits, pair = ref(given, 1), (ref(given, 3), ref(given, 2))
    over_bits = [
        aggregate(name, bits) for name in ("bit_and", "bit_or", "bit_xor", "mode", "any_value")
    ]
    of_pairs = [name for name in sorted(AGGREGATES) if name.startswith(("corr", "covar", "regr"))]
    plan = reduce(given, (0,), *over_bits, *(aggregate(name, *pair) for name in of_pairs))
    found = {
        row[0]: (row[1:6], dict(zip(of_pairs, row[6:], strict=True)))
        for row in answer(engine, plan)
    }
    assert [found[group][0] for group in (1, 2, 3)] == [
        (2, 7, 6, 3, 3),
        (5, 5, 5, 5, 5),
        (0, 3, 3, 1, 1),
    ]
    line = {"regr_slope": 2.5, "regr_intercept": -1.0, "regr_r2": 12.5 / 14, "corr": 5 / 28**0.5}
    sums = {
        "regr_sxx": 2.0,
        "regr_syy": 14.0,
        "regr_sxy": 5.0,
        "covar_pop": 5 / 3,
        "covar_samp": 2.5,
    }
    assert found[1][1] == {"regr_count": 3, "regr_avgx": 2.0, "regr_avgy": 4.0, **sums, **line}
    assert found[2][1] == {name: 0 if name == "regr_count" else None for name in of_pairs}
    sums = {"regr_sxx": 0.0, "regr_syy": 0.5, "regr_sxy": 0.0, "covar_pop": 0.0, "covar_samp": 0.0}
    assert found[3][1] == {
        "regr_count": 2,
        "regr_avgx": 0.1,
        "regr_avgy": 4.5,
        **sums,
        **dict.fromkeys(line),
    }


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
    given = constant(
        [TEXT], ("b",), ("B",), ("é",), ("z",), ("",), (" ",), ("a",), ("世",), ("👩",), ("ﬁ",)
    )
    assert [
        text for (text,) in answer(engine, given, finishing=Finishing((Ordering(0),)))
    ] == sorted((text for (text,) in given.rows), key=lambda text: text.encode())

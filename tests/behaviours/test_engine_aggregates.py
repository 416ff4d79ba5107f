"""Every engine computes the same aggregates of the same rows, whatever their order."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from math import ceil
from typing import Any

from fixtures.engines import answer, constant, multiset, reduce, ref
from fixtures.plans import VALUES, aggregate, call, get, table

from reclock.algebra.relations import BIGINT, BOOLEAN, DOUBLE, INTEGER, TEXT, numeric
from reclock.compute.engines.engine import Engine, TableInput
from reclock.plan.functions import AGGREGATES
from reclock.plan.scalars import ColumnRef


def test_aggregates_are_exact_and_do_not_depend_on_order(engine: Engine) -> None:
    dice = random.Random(7)
    doubles = [dice.uniform(-1, 1) * 10 ** dice.randint(-8, 8) for _ in range(2000)]
    rows = [
        (i % 3, i * 10**15, x, Decimal(i) / 8, f"t{i % 7}", i % 2 == 0)
        for i, x in enumerate(doubles)
    ]
    dice.shuffle(rows)
    source = constant([INTEGER, BIGINT, DOUBLE, numeric(12, 3), TEXT, BOOLEAN])
    inputs = {VALUES: TableInput(table(source.desc, rows))}
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
        mine = [row for row in rows if row[0] == group]
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
        expected = [of_group(group) for group in range(3)]
    answered = sorted(answer(engine, reduced, inputs))
    for one, other in zip(answered, expected, strict=True):
        assert one == other


def test_arrays_of_a_group_are_ordered_by_what_they_are_told_then_by_value(engine: Engine) -> None:
    table = constant(
        [INTEGER, INTEGER, TEXT],
        (1, 2, "a"),
        (1, 1, "c"),
        (1, 1, "b"),
        (1, None, None),
        (2, 1, "z"),
    )
    plain = aggregate("array_agg", ref(table, 2))
    ordered = aggregate("array_agg", ref(table, 2), ref(table, 1), "ASC NULLS LAST")
    filtered = aggregate("array_agg", ref(table, 2), filter=call("=", ref(table, 1), 1))
    last = aggregate(
        "array_agg",
        ref(table, 2),
        ref(table, 1),
        "DESC NULLS LAST",
        ref(table, 2),
        "DESC NULLS FIRST",
    )
    joined = aggregate(
        "string_agg",
        ref(table, 2),
        ",",
        ref(table, 1),
        "ASC NULLS FIRST",
        filter=call("=", ref(table, 0), 1),
    )
    unique = aggregate(
        "string_agg", ref(table, 2), ",", ref(table, 2), "DESC NULLS FIRST", is_distinct=True
    )
    plan = reduce(table, (0,), plain, ordered, filtered, last, joined, unique)
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
    table = constant([INTEGER, INTEGER, DOUBLE, DOUBLE], *rows, (3, 2, 0.1, 5.0))
    bits, pair = ref(table, 1), (ref(table, 3), ref(table, 2))
    over_bits = [
        aggregate(name, bits) for name in ("bit_and", "bit_or", "bit_xor", "mode", "any_value")
    ]
    of_pairs = [name for name in sorted(AGGREGATES) if name.startswith(("corr", "covar", "regr"))]
    plan = reduce(table, (0,), *over_bits, *(aggregate(name, *pair) for name in of_pairs))
    answers = {
        row[0]: (row[1:6], dict(zip(of_pairs, row[6:], strict=True)))
        for row in answer(engine, plan)
    }
    assert [answers[group][0] for group in (1, 2, 3)] == [
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
    assert answers[1][1] == {"regr_count": 3, "regr_avgx": 2.0, "regr_avgy": 4.0, **sums, **line}
    assert answers[2][1] == {name: 0 if name == "regr_count" else None for name in of_pairs}
    sums = {"regr_sxx": 0.0, "regr_syy": 0.5, "regr_sxy": 0.0, "covar_pop": 0.0, "covar_samp": 0.0}
    assert answers[3][1] == {
        "regr_count": 2,
        "regr_avgx": 0.1,
        "regr_avgy": 4.5,
        **sums,
        **dict.fromkeys(line),
    }

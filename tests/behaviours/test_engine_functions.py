"""Every engine computes the same value of every function and cast, to the last digit and of the same
type, or raises the same error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest
from fixtures.corpus import CORPUS
from fixtures.engines import ALL, AT, answer, constant, multiset, ref
from fixtures.plans import NAN, ROWS, VALUES, call, cast, column, computed, desc_of, get, lit, table

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
    numeric,
)
from reclock.compute.engines.engine import Engine, TableInput
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions import SCALARS
from reclock.plan.functions.casts import write_cast
from reclock.plan.scalars import Case, ColumnRef, Scalar


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
    first, second = (
        engine.run(plan, ALL, inputs, AT).batches.read_all()
        for engine in (duckdb_engine, spark_engine)
    )
    assert first.schema == second.schema
    for index, label in enumerate(labels):
        values = [
            [repr(value) for value in answered.column(index).to_pylist()]
            for answered in (first, second)
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
    inexact |= {"cbrt", "sind", "cosd", "tand", "cotd", "asind", "acosd", "atand", "atan2d"}
    random = {"gen_random_uuid", "random"}
    assert set(SCALARS) - called - synonyms - inexact - random == set()


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
    first, second = (
        engine.run(plan, ALL, inputs, AT).batches.read_all().sort_by("e0")
        for engine in (duckdb_engine, spark_engine)
    )
    assert first.num_rows == len(chunks)
    assert first == second


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
    "outside of a domain": (
        lambda: call("in domain", column("i"), call("concat", "no", column("t")), "23514"),
        "23514",
    ),
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
    doubles = constant([DOUBLE], (1.0,), (0.1,), (1e20,), (NAN,), (float("-inf"),), (None,))
    assert multiset(
        answer(duckdb_engine, computed(doubles, cast(ref(doubles, 0), TEXT)))
    ) == multiset([("1",), ("0.1",), ("1e+20",), ("NaN",), ("-Infinity",), (None,)])
    with pytest.raises(UnsupportedSql):
        write_cast("spark", "x", DOUBLE, TEXT)

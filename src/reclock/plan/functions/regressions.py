"""Aggregates of pairs (Y, X): correlation, covariance and linear regression, computed in floating
point.

A row counts if neither is NULL. The pairs are added in ascending order, so that the result does not
depend on the order of the rows. Squares and products are those of the distances from the averages
(the two-pass formula).
"""

from __future__ import annotations

from reclock.algebra.relations import BIGINT, DOUBLE
from reclock.plan.functions.floats import is_infinite, with_value
from reclock.plan.functions.registry import Site, Writer, aggregate
from reclock.plan.functions.sql_names import raised
from reclock.plan.functions.typing import exact


def _pairs(engine: str, site: Site) -> str:
    """The group's pairs without NULL, as an ascending list of structs ``y`` and ``x``."""
    y, x = site.arguments
    present = f"{y} IS NOT NULL AND {x} IS NOT NULL)"
    filter = f"{site.filter[:-1]} AND {present}" if site.filter else f" FILTER (WHERE {present}"
    if engine == "duckdb":
        pair = f"{{'y': {y}, 'x': {x}}}"
        return (
            f"list({'DISTINCT ' if site.is_distinct else ''}{pair} ORDER BY "
            f"{pair}){filter}{site.over}"
        )
    pair = f"named_struct('y', {y}, 'x', {x})"
    return f"array_sort(collect_{'set' if site.is_distinct else 'list'}({pair}){filter}{site.over})"


def _size(engine: str) -> str:
    return "len(v)" if engine == "duckdb" else "size(v)"


def _values(engine: str, pairs: str, term: str) -> str:
    """``term`` of each pair ``p``."""
    return (
        f"list_transform({pairs}, lambda p: {term})"
        if engine == "duckdb"
        else f"transform({pairs}, p -> {term})"
    )


def _added(engine: str, pairs: str, term: str, *operands: str) -> str:
    """The sum of ``term`` of each pair ``p``; an error if it is infinite although no operand is."""
    terms = _values(engine, pairs, term)
    if engine == "duckdb":
        total = f"list_sum({terms})"
    else:
        total = f"aggregate({terms}, CAST(0 AS DOUBLE), (total, term) -> total + term)"
    finite = " AND ".join(f"NOT {is_infinite(engine, operand)}" for operand in operands)
    error = raised(engine, "22003", "'value out of range: overflow'")
    return f"(CASE WHEN {is_infinite(engine, total)} AND {finite} THEN {error} ELSE {total} END)"


def _extremes(engine: str, side: str) -> tuple[str, str]:
    values = _values(engine, "v", f"p.{side}")
    names = ("list_min", "list_max") if engine == "duckdb" else ("array_min", "array_max")
    return f"{names[0]}({values})", f"{names[1]}({values})"


def _average(engine: str, side: str) -> str:
    """Of ``v``. Of values that are all equal it is exactly that value."""
    least, most = _extremes(engine, side)
    total = _added(engine, "v", f"p.{side}", least, most)
    return f"(CASE WHEN {least} = {most} THEN {least} ELSE {total} / {_size(engine)} END)"


def _summary(engine: str, site: Site) -> str:
    """``pairs``, their number ``n`` and their averages ``y`` and ``x``; NULL if there are none."""
    fields = {
        "pairs": "v",
        "n": f"CAST({_size(engine)} AS DOUBLE)",
        "y": _average(engine, "y"),
        "x": _average(engine, "x"),
    }
    if engine == "duckdb":
        items = ", ".join(f"'{name}': {value}" for name, value in fields.items())
        struct = f"{{{items}}}"
    else:
        items = ", ".join(f"'{name}', {value}" for name, value in fields.items())
        struct = f"named_struct({items})"
    return with_value(
        engine, _pairs(engine, site), f"CASE WHEN {_size(engine)} > 0 THEN {struct} END"
    )


def _of_pairs(engine: str, template: str) -> Writer:
    """``template`` over ``{n}``, the averages ``{x}`` and ``{y}``, and the sums ``{sxx}``,
    ``{syy}`` and ``{sxy}``."""
    x, y = "(p.x - v.x)", "(p.y - v.y)"
    sums = {
        "sxx": _added(engine, "v.pairs", f"{x} * {x}", "v.x"),
        "syy": _added(engine, "v.pairs", f"{y} * {y}", "v.y"),
        "sxy": _added(engine, "v.pairs", f"{x} * {y}", "v.x", "v.y"),
    }
    body = template.format(n="v.n", x="v.x", y="v.y", **sums)
    return lambda site: with_value(engine, _summary(engine, site), body)


def _counted(engine: str) -> Writer:
    def write(site: Site) -> str:
        pairs = _pairs(engine, site)
        if engine == "duckdb":
            return f"coalesce(CAST(len({pairs}) AS BIGINT), 0)"
        return f"CAST(size({pairs}) AS BIGINT)"

    return write


_TEMPLATES = {
    "corr": (
        "Correlation coefficient.",
        "CASE WHEN {sxx} <> 0 AND {syy} <> 0 THEN {sxy} / sqrt({sxx} * {syy}) END",
    ),
    "covar_pop": ("Covariance of a population.", "{sxy} / {n}"),
    "covar_samp": ("Covariance of a sample.", "CASE WHEN {n} > 1 THEN {sxy} / ({n} - 1) END"),
    "regr_avgx": ("Average of X, the second argument.", "{x}"),
    "regr_avgy": ("Average of Y, the first argument.", "{y}"),
    "regr_sxx": ("Sum of the squared distances of X from its average.", "{sxx}"),
    "regr_syy": ("Sum of the squared distances of Y from its average.", "{syy}"),
    "regr_sxy": ("Sum of the products of both distances.", "{sxy}"),
    "regr_slope": (
        "Slope of the least-squares line.",
        "CASE WHEN {sxx} <> 0 THEN {sxy} / {sxx} END",
    ),
    "regr_intercept": (
        "Where the least-squares line meets the Y axis.",
        "CASE WHEN {sxx} <> 0 THEN {y} - {x} * {sxy} / {sxx} END",
    ),
    "regr_r2": (
        "Square of the correlation coefficient; 1 if all Y are equal.",
        (
            "CASE WHEN {sxx} = 0 THEN NULL WHEN {syy} = 0 THEN CAST(1 AS DOUBLE) ELSE ({sxy} "
            "* {sxy}) / ({sxx} * {syy}) END"
        ),
    ),
}
for _name, (_description, _template) in _TEMPLATES.items():
    aggregate(
        _name,
        _description,
        exact(((DOUBLE, DOUBLE), DOUBLE)),
        duckdb=_of_pairs("duckdb", _template),
        spark=_of_pairs("spark", _template),
    )
aggregate(
    "regr_count",
    "The number of rows in which neither argument is NULL.",
    exact(((DOUBLE, DOUBLE), BIGINT)),
    duckdb=_counted("duckdb"),
    spark=_counted("spark"),
)

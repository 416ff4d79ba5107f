"""Aggregates over the different values of their arguments. That the plans are equal is a part of
the laws of delta rules."""

from __future__ import annotations

from fixtures.plans import aggregate, call, desc_of, get

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, DOUBLE, INTERVAL, ScalarType
from reclock.compute.operators.distinct_arguments import over_distinct_arguments
from reclock.compute.steps.delta import has_delta_rules
from reclock.plan.relational import Distinct, Filter, Plan, Project, Reduce
from reclock.plan.scalars import Aggregate, ColumnRef

ROWS = get(StorageCollectionId(GlobalId("u1")), desc_of(BIGINT, DOUBLE, INTERVAL))
NUMBER = ColumnRef(0, BIGINT)


def _reduced(*aggregates: Aggregate) -> Reduce:
    return Reduce(ROWS, (), aggregates, desc_of(*(aggregate.type for aggregate in aggregates)))


def _below(plan: Plan) -> Plan:
    """The aggregates below another operator, so that the result does not show them."""
    return Filter(plan, (call("is_null", ColumnRef(0, plan.desc.types[0])),))


def test_an_extreme_below_other_operators_is_maintained_from_changes() -> None:
    plan = over_distinct_arguments(_reduced(aggregate("max", NUMBER)))
    assert isinstance(plan, Reduce)
    assert isinstance(plan.input, Distinct)
    assert has_delta_rules(_below(plan))


def test_sums_beside_it_keep_all_rows_and_columns_their_order() -> None:
    given = _reduced(aggregate("sum", NUMBER), aggregate("max", NUMBER), aggregate("count"))
    plan = over_distinct_arguments(given)
    assert isinstance(plan, Project)
    assert plan.desc.types == given.desc.types
    assert plan.indexes == (1, 0, 2)


def test_what_depends_on_copies_or_on_equal_values_stays() -> None:
    for type, column, function in ((DOUBLE, 1, "sum"), (INTERVAL, 2, "max")):
        plan = _reduced(aggregate(function, ColumnRef(column, ScalarType(type.name))))
        assert over_distinct_arguments(plan) is plan
        assert has_delta_rules(_below(plan))  # over an arrangement


def test_an_argument_that_may_fail_is_not_computed_for_rows_that_a_filter_leaves_out() -> None:
    plan = _reduced(aggregate("max", call("/", 1, NUMBER), filter=call("<>", NUMBER, 0)))
    assert over_distinct_arguments(plan) is plan
    assert not has_delta_rules(_below(plan))

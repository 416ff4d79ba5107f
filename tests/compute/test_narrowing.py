"""Plans without the columns that nothing reads. That they are equal plans is a part of the laws of
delta rules."""

from __future__ import annotations

from fixtures.plans import aggregate, call, desc_of, get

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, TEXT, UUID, Column, RelationDesc
from reclock.compute.narrowing import narrowed
from reclock.plan.relational import (
    Distinct,
    Filter,
    Get,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    Union,
)
from reclock.plan.scalars import ColumnRef
from reclock.plan.traversal import nodes_of

ORDERS, LINES = (StorageCollectionId(GlobalId(id)) for id in ("u1", "u2"))
ORDER = RelationDesc(
    tuple(Column(name, BIGINT) for name in ("order", "customer", "priority", "comment"))
)
LINE = RelationDesc(tuple(Column(name, BIGINT) for name in ("line_order", "amount", "comment")))


def _reads(plan: Plan) -> dict[str, list[str]]:
    """The columns of each collection that the plan reads."""
    return {node.name: list(node.desc.names) for node in nodes_of(plan) if isinstance(node, Get)}


def test_collections_and_joins_have_only_what_is_read() -> None:
    orders, lines = Get(ORDERS, "orders", ORDER), Get(LINES, "lines", LINE)
    urgent = Filter(orders, (call("=", ColumnRef(2, BIGINT), 1),))
    joined = Join(
        urgent, lines, JoinKind.INNER, ((0, 0),), (), RelationDesc(ORDER.columns + LINE.columns)
    )
    summed = Reduce(
        joined, (1,), (aggregate("sum", ColumnRef(5, BIGINT)),), desc_of(BIGINT, BIGINT)
    )
    plan = narrowed(summed)
    assert _reads(plan) == {
        "orders": ["order", "customer", "priority"],
        "lines": ["line_order", "amount"],
    }
    assert isinstance(plan, Reduce)
    assert plan.desc == summed.desc
    assert plan.input.desc.names == ("customer", "amount")


def test_what_nothing_reads_is_not_computed() -> None:
    mapped = Map(
        get(LINES, LINE),
        (call("/", 1, ColumnRef(1, BIGINT)), call("+", ColumnRef(0, BIGINT), 1)),
        desc_of(*[BIGINT] * 5),
    )
    plan = narrowed(Project(mapped, (4,), desc_of(BIGINT)))
    [read] = _reads(plan).values()
    assert read == ["line_order"]
    assert [len(node.scalars) for node in nodes_of(plan) if isinstance(node, Map)] == [1]


def test_a_node_with_two_readers_stays_one_with_what_either_reads() -> None:
    lines = get(LINES, LINE)
    first, second = Project(lines, (0,), desc_of(BIGINT)), Project(lines, (1,), desc_of(BIGINT))
    plan = narrowed(Union((first, second), desc_of(BIGINT)))
    [read] = [node for node in nodes_of(plan) if isinstance(node, Get)]
    assert read.desc.names == ("line_order", "amount")


def test_rows_that_are_told_apart_keep_all_columns() -> None:
    plan = Project(Distinct(get(LINES, desc_of(TEXT, BIGINT))), (0,), desc_of(TEXT))
    assert narrowed(plan) == plan


def test_rows_that_are_only_counted_have_no_columns() -> None:
    plan = narrowed(Reduce(get(LINES, LINE), (), (aggregate("count"),), desc_of(BIGINT)))
    assert list(_reads(plan).values()) == [[]]


def test_equal_nodes_become_one_unless_they_may_differ() -> None:
    """Of a query that is read, only those that are more than a scan."""
    orders = Get(ORDERS, "orders", ORDER)

    def inputs_of(pair: list[Plan], *, is_read: bool) -> int:
        plan = narrowed(Union(tuple(pair), pair[0].desc), is_read=is_read)
        assert isinstance(plan, Union)
        return len(set(map(id, plan.inputs)))

    filters: list[Plan] = [Filter(orders, (call("=", ColumnRef(2, BIGINT), 1),)) for _ in range(2)]
    groups: list[Plan] = [
        Reduce(filter, (1,), (aggregate("count"),), desc_of(BIGINT, BIGINT)) for filter in filters
    ]
    drawn: list[Plan] = [
        Map(group, (call("gen_random_uuid"),), desc_of(BIGINT, BIGINT, UUID)) for group in groups
    ]
    assert inputs_of(filters, is_read=False) == inputs_of(groups, is_read=False) == 1
    assert (inputs_of(filters, is_read=True), inputs_of(groups, is_read=True)) == (2, 1)
    assert inputs_of(drawn, is_read=True) == inputs_of(drawn, is_read=False) == 2

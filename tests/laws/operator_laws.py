"""Plans for each operator's rules, and the law that what is maintained is what is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fixtures.examples import examples
from fixtures.maintaining import Bench, dense_histories
from fixtures.plans import aggregate, call, desc_of, get
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, TEXT, array
from reclock.plan.relational import (
    Distinct,
    Except,
    Filter,
    FlatMap,
    Frame,
    Intersect,
    Join,
    JoinKind,
    Map,
    MutualRecursion,
    Ordering,
    Plan,
    Project,
    RecursiveUnion,
    Reduce,
    TopK,
    Union,
    Window,
    WindowFunction,
    WorkTable,
)
from reclock.plan.scalars import Aggregate, ColumnRef, Literal

LEFT, RIGHT = (StorageCollectionId(GlobalId(id)) for id in ("u1", "u2"))
DESC = desc_of(TEXT, BIGINT)
ONE, OTHER = get(LEFT, DESC), get(RIGHT, DESC)
KEY, NUMBER = ColumnRef(0, TEXT), ColumnRef(1, BIGINT)
TWICE = desc_of(TEXT, BIGINT, TEXT, BIGINT)
NUMBERED = desc_of(TEXT, BIGINT, BIGINT)
ORDER = (Ordering(1, is_descending=True),)

ROWS = [(key, number) for key in ("a", "b", None) for number in (0, 1)] + [("a", None)]
both = dense_histories(ROWS)
both_add = dense_histories(ROWS, ["adds"])
"""So few different rows that they meet soon."""

side = st.sampled_from([ONE, OTHER])
with_or_without = st.booleans()
some = st.one_of(side, st.builds(lambda one: Filter(one, (call(">", NUMBER, 0),)), side))
all_or_key = st.sampled_from([(), (0,)])


def _first(
    plan: Plan, group_by: tuple[int, ...] = (), limit: int | None = 1, offset: int = 0
) -> Plan:
    return TopK(plan, group_by, ORDER, limit, offset)


def _joined(
    left: Plan,
    right: Plan,
    kind: JoinKind,
    keys: tuple[tuple[int, int], ...],
    residual: tuple[Any, ...] = (),
) -> Plan:
    return Join(
        left, right, kind, keys, residual, DESC if kind in (JoinKind.SEMI, JoinKind.ANTI) else TWICE
    )


def _reduced(plan: Plan, group_by: tuple[int, ...], aggregates: list[Aggregate]) -> Plan:
    types = (
        *(plan.desc.types[place] for place in group_by),
        *(aggregate.type for aggregate in aggregates),
    )
    return Reduce(plan, group_by, tuple(aggregates), desc_of(*types))


def _summed(plan: Plan) -> Plan:
    """How many rows ``plan`` has, and the sum of its last column."""
    return _reduced(
        plan, (), [aggregate("count"), aggregate("sum", ColumnRef(len(plan.desc) - 1, BIGINT))]
    )


def _beside(one: Plan, other: Plan, kind: JoinKind) -> Plan:
    """Rows of ``one`` whose number is the first column of ``other``."""
    return Join(one, other, kind, ((1, 0),), (), desc_of(*one.desc.types, *other.desc.types))


def _window(plan: Plan, group_by: tuple[int, ...], function: Any) -> Plan:
    return Window(plan, group_by, ORDER, function, NUMBERED, Frame(None, None))


def _window_of_all(plan: Plan, order: tuple[Ordering, ...], function: Any, frame: Frame) -> Plan:
    return Window(plan, (), order, function, NUMBERED, frame)


def _counted_by_number(plan: Plan) -> Plan:
    """As many rows as ``plan`` has for each number."""
    return Reduce(plan, (1,), (aggregate("count"),), desc_of(BIGINT, BIGINT))


PAIRING = [JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL]
keys = st.sampled_from([((0, 0),), ((0, 0), (1, 1)), ((1, 1),)])
MERGED = [
    aggregate("count"),
    aggregate("sum", NUMBER),
    aggregate("min", NUMBER),
    aggregate("max", NUMBER),
    aggregate("count", filter=call("=", NUMBER, 0)),
]
ADDITIVE = [
    aggregate("sum", NUMBER),
    aggregate("avg", NUMBER),
    aggregate("count", NUMBER, filter=call("=", NUMBER, 0)),
]
EXTREMES = [
    aggregate("max", NUMBER),
    aggregate("min", KEY, filter=call("=", NUMBER, 0)),
    aggregate("count", KEY, is_distinct=True),
]
aggregates = st.sampled_from(
    [MERGED, [aggregate("count"), aggregate("count", NUMBER, is_distinct=True)]]
)
FAILS_ON_ZERO = call(">=", call("/", 2, NUMBER), 0)
joins = st.builds(_joined, some, some, st.just(JoinKind.INNER), keys)
outer = st.builds(
    _joined, some, some, st.sampled_from([JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL]), keys
)
halves = st.builds(_joined, some, some, st.sampled_from([JoinKind.SEMI, JoinKind.ANTI]), keys)
residuals = {
    "joins with a residual": call("<>", NUMBER, ColumnRef(3, BIGINT)),
    "joins whose residual could fail": call(">", call("+", NUMBER, 1), ColumnRef(3, BIGINT)),
}
sets = st.builds(
    lambda kind, one, other: kind(one, other), st.sampled_from([Except, Intersect]), some, some
)
unions = st.builds(lambda one, other: Union((one, other), DESC), some, some)
first_rows = st.builds(
    _first, some, all_or_key, st.sampled_from([1, 2]), st.sampled_from([0, 0, 1])
)
windows = st.builds(
    _window,
    some,
    st.just((0,)),
    st.sampled_from([WindowFunction("row_number"), aggregate("count")]),
)
in_groups = [
    st.builds(_first, some, st.just((0,)), st.just(1)),
    windows.map(lambda plan: Project(plan, (0, 2), desc_of(TEXT, BIGINT))),
    st.builds(_joined, some, some, st.just(JoinKind.LEFT), st.just(((0, 0),))).map(
        lambda plan: Project(plan, (0, 3), DESC)
    ),
]


IN_ONE_ORDER = [
    WindowFunction("row_number"),
    WindowFunction("rank"),
    WindowFunction("lag", value=1),
    WindowFunction("lead", value=1, offset=2),
    aggregate("count", NUMBER),
    aggregate("sum", NUMBER),
    aggregate("max", NUMBER),
]
windows_of_all = st.builds(
    _window_of_all,
    some,
    st.sampled_from([ORDER, (Ordering(0),), (Ordering(1, nulls_first=True), Ordering(0))]),
    st.sampled_from(IN_ONE_ORDER).map(
        lambda function: (
            replace(function, type=BIGINT) if isinstance(function, Aggregate) else function
        )
    ),
    st.sampled_from([Frame(), Frame(None, 0, is_range=False), Frame(-1, 1, is_range=False)]),
)
groups_of_all = st.one_of(
    st.builds(
        _reduced,
        some,
        st.just(()),
        st.sampled_from(
            [
                [aggregate("stddev", NUMBER), aggregate("count")],
                [aggregate("corr", NUMBER, call("*", NUMBER, 2)), aggregate("mode", KEY)],
            ]
        ),
    ),
    st.builds(
        _counted_by_number,
        st.builds(_first, some, st.just(()), st.just(2), st.sampled_from([0, 1])),
    ),
)


def _reached(base: Plan, other: Plan, most: int, is_block: bool) -> Plan:
    """The rows of ``base``, and those of ``other`` that have the key or the number of such a row."""
    work = WorkTable(1, "r", DESC, is_binding=is_block)
    meets = call("or", call("=", KEY, ColumnRef(2, TEXT)), call("=", NUMBER, ColumnRef(3, BIGINT)))
    step = Project(_joined(work, other, JoinKind.INNER, (), (meets,)), (2, 3), DESC)
    if not is_block:
        return RecursiveUnion(base, step, 1, "r", True, most, DESC)
    value = Distinct(Union((base, step), DESC))
    return MutualRecursion((value,), (1,), ("r",), 0, most, False, DESC)


can_lose = {
    "except": st.builds(Except, some, some),
    "joins": st.one_of(halves, outer),
    "groups": st.builds(_counted_by_number, some),
    "first rows": st.builds(_first, some, st.just((0,)), st.just(1)),
    "window": windows,
    "distinct": st.builds(Distinct, side),
}

LAWS: dict[str, st.SearchStrategy[Plan]] = {
    "a row at a time": st.one_of(
        st.builds(lambda one: Filter(Project(one, (0, 1), DESC), (call(">", NUMBER, 0),)), side),
        st.builds(lambda one: Map(one, (call("+", NUMBER, 1),), NUMBERED), some),
        st.builds(lambda one: Project(one, (1,), desc_of(BIGINT)), some),
        st.builds(lambda one: FlatMap(one, (Literal((1, 2), array(BIGINT)),), NUMBERED), some),
    ),
    "union": unions,
    "recursion": st.builds(_reached, side, side, st.sampled_from([3, 20]), st.booleans()),
    "inner join": joins,
    "outer join": outer,
    "semi and anti join": halves,
    **{
        name: st.builds(
            _joined,
            some,
            some,
            st.sampled_from([kind for kind in JoinKind if kind is not JoinKind.INNER]),
            st.just(((0, 0),)),
            st.just((residual,)),
        )
        for name, residual in residuals.items()
    },
    "inner joins whose residual fails": st.builds(
        _joined,
        some,
        some,
        st.just(JoinKind.INNER),
        st.sampled_from([((0, 0),), ()]),
        st.just((call(">", call("/", 2, call("+", NUMBER, ColumnRef(3, BIGINT))), 1),)),
    ),
    "joins without an equality": st.builds(
        _joined,
        some,
        some,
        st.sampled_from([kind for kind in JoinKind if kind is not JoinKind.INNER]),
        st.just(()),
        st.sampled_from([(), *((residual,) for residual in residuals.values())]),
    ),
    "distinct": st.builds(Distinct, some),
    "except and intersect": sets,
    "aggregates": st.builds(_reduced, some, all_or_key, aggregates),
    "extremes of groups": st.builds(
        _reduced, some, all_or_key, st.just([aggregate("min", NUMBER), aggregate("max", KEY)])
    ),
    "first rows": first_rows,
    "window": windows,
    "one group of all rows": groups_of_all,
    "a window of all rows": windows_of_all,
    "groups of first rows": in_groups[0].map(_counted_by_number),
    "groups of a window": in_groups[1].map(_counted_by_number),
    "groups of an outer join": in_groups[2].map(_counted_by_number),
    "groups of both sides": st.builds(
        _joined, some, some, st.sampled_from(PAIRING), st.just(((0, 0),))
    ).map(
        lambda plan: Reduce(plan, (1, 3), (aggregate("count"),), desc_of(BIGINT, BIGINT, BIGINT))
    ),
    "additive aggregates": st.one_of(
        st.builds(_reduced, some, all_or_key, st.just(ADDITIVE)),
        st.builds(
            _counted_by_number,
            st.builds(_reduced, some, st.just((0,)), st.just([aggregate("sum", NUMBER)])),
        ),
        st.builds(
            _joined,
            st.builds(_reduced, some, st.just((0,)), st.just(ADDITIVE[:1])),
            some,
            st.just(JoinKind.INNER),
            keys,
        ),
    ),
    "extremes and distinct values": st.builds(
        _beside,
        some,
        st.builds(
            _reduced, some, st.just(()), st.sampled_from([MERGED, EXTREMES, [*EXTREMES, *ADDITIVE]])
        ),
        st.sampled_from([JoinKind.INNER, JoinKind.LEFT]),
    ),
    **{f"merged over {name}": st.builds(_summed, plans) for name, plans in can_lose.items()},
    "errors": st.one_of(
        st.builds(
            _joined, some, some, st.sampled_from(list(JoinKind)), keys, st.just((FAILS_ON_ZERO,))
        ),
        st.builds(lambda one: Filter(one, (FAILS_ON_ZERO,)), some),
        st.builds(lambda one: Map(one, (call("/", 2, NUMBER),), NUMBERED), some),
        st.builds(
            lambda one: _reduced(Filter(one, (FAILS_ON_ZERO,)), (), [aggregate("count")]), some
        ),
    ),
}


LATE = {
    "a row at a time": 12,
    "semi and anti join": 15,
    "joins whose residual could fail": 15,
    "distinct": 9,
    "aggregates": 12,
    "first rows": 15,
    "recursion": 3,
}
"""How many examples a law tries that finds its planted bugs only with more than ``EXAMPLES``; fewer
where each of them takes half a second."""

EXAMPLES = 8


def tried(name: str) -> int:
    """How many examples the law of that name tries."""
    return examples(LATE.get(name, EXAMPLES), 200)


def operator_law(
    bench: Bench, name: str, keeps_groups: st.SearchStrategy[bool] = with_or_without
) -> Callable[[], None]:
    """Counts over what can lose rows are merged only while the inputs gain rows."""

    @given(
        plan=LAWS[name],
        updates=both_add if name.startswith("merged") else both,
        skipped=st.sets(st.integers(0, 4), max_size=2),
        keeps_groups=keeps_groups,
    )
    def law(plan: Plan, updates: Any, skipped: set[int], keeps_groups: bool) -> None:
        sides = {LEFT: (DESC, updates[0]), RIGHT: (DESC, updates[1])}
        bench.check(plan, sides, skipped, keeps_groups=keeps_groups)

    return law

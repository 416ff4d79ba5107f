"""The delta rule that operators over groups share: groups without a change keep their rows; the
others are computed again, or merged with the inserted rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reclock.compute.operators.get import repeated
from reclock.compute.operators.partial_aggregates import partial_aggregates
from reclock.compute.operators.rules import (
    EMPTY_ROW,
    DeltaStep,
    InputVersion,
    KeyFilter,
    NoRuleByTime,
    columns,
    select_list,
    snapshot,
)
from reclock.plan.relational import Plan, inputs

Merge = Callable[[str], str]
"""Given a relation of the groups' previous rows and of what the node computes from the inserted
rows, the SELECT of the groups' new rows."""

Decides = Callable[[str], str]
"""Given a relation of the groups' previous rows, the condition that a deleted row ``i`` of the
input may have decided those of its group. Without the others, the groups have the same rows."""


def changed_groups(node: Plan, step: DeltaStep, group_columns: int) -> str | None:
    """The changes of a node whose groups have partial aggregates kept, from those of the groups
    that change; None if none are kept. The first ``group_columns`` of the node's columns are the
    keys."""
    state, partials = step.group_state(node), partial_aggregates(node)
    if state is None or state.changes is None or partials is None:
        return None
    columns = tuple(range(group_columns))
    if step.by_time:
        return partials.changed_values_by_time(step.rendering.engine, state.table, state.changes)
    touched = KeyFilter(columns, state.changes).condition([f"g.c{index}" for index in columns])
    return partials.changed_values(step.rendering.engine, state.table, touched, state.before)


def regrouped(
    node: Plan,
    step: DeltaStep,
    groups: Sequence[tuple[int, ...]],
    key_columns: tuple[int, ...] | None,
    merge: Merge | None = None,
    decides: Decides | None = None,
) -> str:
    """The changes of a node that computes each group's rows from its inputs' rows of that group
    alone.

    ``groups`` are the grouping columns in each input, and ``key_columns`` the node's own columns
    with the same values, if it has them. Without grouping columns there is exactly one group, which
    exists even when it has no rows, so every step touches it: an aggregate has its one row before
    and after.

    ``merge`` is for nodes of one input. It computes the groups that lost no row that ``decides``
    from their rows in the maintained result. The *net* changes decide which rows were inserted and
    which deleted: a delta rule may delete a row and insert it again.
    """
    if step.by_time:
        raise NoRuleByTime
    changes_of = step.changes if merge is None else step.net_changes
    changes = [
        (changed, columns)
        for part, columns in zip(inputs(node), groups, strict=True)
        if (changed := changes_of(part))
    ]
    touched = step.keys(*changes) if groups[0] else step.define(f"SELECT {EMPTY_ROW}", is_few=True)

    def computed(state: InputVersion, keys: str) -> str:
        parts = zip(inputs(node), groups, strict=True)
        rows = [step.rows(part, state, KeyFilter(columns, keys)) for part, columns in parts]
        return step.define(snapshot(node, step.rendering, rows))

    previous = None if key_columns is None else step.result(node, KeyFilter(key_columns, touched))
    if previous is None or merge is None or key_columns is None:
        before = previous or computed(InputVersion.BEFORE, touched)
        return _difference(node, before, [computed(InputVersion.NOW, touched)])
    [part], [(changed, group_columns)] = inputs(node), changes
    if step.only_adds(part):
        return _difference(node, previous, [_merged(node, step, merge, previous, changed)])
    deciding = None if decides is None else decides(previous)
    lossy = _groups_that_lost(step, changed, group_columns, deciding)
    is_lossy = _is_among(lossy, node, key_columns)
    # Groups that lost such a row are not merged at all: the sum of their previous value and of the
    # inserted rows may overflow.
    whole_previous = _rows_where(step, previous, f"NOT {is_lossy}")
    whole_changed = _rows_where(step, changed, f"NOT {_is_among(lossy, part, group_columns)}")
    merged = _merged(node, step, merge, whole_previous, whole_changed)
    again = computed(InputVersion.NOW, lossy)
    # The conditions leave out the row that an aggregate without keys returns for no rows.
    current = [
        _rows_where(step, merged, f"NOT {is_lossy}"),
        _rows_where(step, again, is_lossy),
    ]
    return _difference(node, previous, current)


def _groups_that_lost(
    step: DeltaStep, changed: str, group_columns: tuple[int, ...], deciding: str | None
) -> str:
    """The groups that lost a row, by ``changed``: one that meets ``deciding``, if it is given."""
    columns = select_list([f"c{index}" for index in group_columns])
    condition = "n < 0" if deciding is None else f"n < 0 AND {deciding}"
    rows = f"SELECT DISTINCT {columns} FROM {changed} AS i WHERE {condition}"
    return step.define(rows, is_few=True)


def _rows_where(step: DeltaStep, relation: str, condition: str) -> str:
    """The rows ``i`` of a relation that meet the condition."""
    return step.define(f"SELECT * FROM {relation} AS i WHERE {condition}")


def _is_among(groups: str, relation: Plan, columns: tuple[int, ...]) -> str:
    """The condition that the row ``i`` of a relation is in one of the groups."""
    return KeyFilter(columns, groups).condition(
        [f"i.c{index}" for index in range(len(relation.desc))]
    )


def _merged(node: Plan, step: DeltaStep, merge: Merge, previous: str, changed: str) -> str:
    """The new rows of groups whose rows were ``previous`` and which, by ``changed``, only gain
    rows."""
    [part] = inputs(node)
    inserted = step.define(
        repeated(step.rendering.engine, f"SELECT * FROM {changed} WHERE n > 0", columns(part))
    )
    added = snapshot(node, step.rendering, [inserted])
    return step.define(
        merge(step.define(f"SELECT * FROM {previous} UNION ALL SELECT * FROM ({added}) AS added"))
    )


def _difference(node: Plan, previous: str, current: Sequence[str]) -> str:
    names = select_list(columns(node))
    inserts = [f"SELECT {names}, CAST(1 AS BIGINT) AS n FROM {relation}" for relation in current]
    return " UNION ALL ".join(
        [*inserts, f"SELECT {names}, CAST(-1 AS BIGINT) AS n FROM {previous}"]
    )

"""The delta rule that operators over groups share: groups without a change keep their rows; the
others are computed again, or merged with the rows that came."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reclock.compute.operators.get import repeated
from reclock.compute.operators.rules import EMPTY_ROW, DeltaStep, InputVersion, KeyFilter, columns, select_list, snapshot
from reclock.plan.relational import Plan, inputs

Merge = Callable[[str], str]
"""Given a relation of the rows that groups had and of what the node computes from the rows that came,
the SELECT of the rows that the groups have now."""


def regrouped(
    node: Plan,
    step: DeltaStep,
    groups: Sequence[tuple[int, ...]],
    shown: tuple[int, ...] | None,
    merge: Merge | None = None,
) -> str:
    """The changes of a node that computes each group's rows from its inputs' rows of that group alone.

    ``groups`` are the grouping columns in each input, and ``shown`` the node's own columns with the
    same values, if it has them. Without grouping columns there is exactly one group, which exists even
    when it has no rows, so every step touches it: an aggregate has its one row before and after.

    ``merge`` is for nodes of one input. It computes the groups that lost no row from the rows that the
    maintained result shows of them. Which rows came and which went is asked of the *net* changes: a
    delta rule may take a row away and give it back.
    """
    changes = [
        (changed, columns) for part, columns in zip(inputs(node), groups, strict=True) if (changed := step.net_changes(part))
    ]
    keys = " UNION ".join(f"SELECT DISTINCT {_named(columns)} FROM {changed}" for changed, columns in changes)
    touched = step.define(keys if groups[0] else f"SELECT {EMPTY_ROW}")

    def computed(state: InputVersion, keys: str) -> str:
        parts = zip(inputs(node), groups, strict=True)
        rows = [step.rows(part, state, KeyFilter(columns, keys)) for part, columns in parts]
        return step.define(snapshot(node, step.rendering, rows))

    had = None if shown is None else step.result(node, KeyFilter(shown, touched))
    if had is None or merge is None or shown is None:
        return _difference(node, had or computed(InputVersion.BEFORE, touched), [computed(InputVersion.NOW, touched)])
    [part], [(changed, own)] = inputs(node), changes
    if step.only_adds(part):
        return _difference(node, had, [_merged(node, step, merge, had, changed)])
    lossy = step.define(f"SELECT DISTINCT {_named(own)} FROM {changed} WHERE n < 0")

    def is_lossy(relation: Plan, columns: tuple[int, ...]) -> str:
        return KeyFilter(columns, lossy).condition([f"i.c{index}" for index in range(len(relation.desc))])

    # Groups that lost a row are not merged at all: a sum of what they had and of what came may overflow.
    whole_had = step.define(f"SELECT * FROM {had} AS i WHERE NOT {is_lossy(node, shown)}")
    whole_changed = step.define(f"SELECT * FROM {changed} AS i WHERE NOT {is_lossy(part, own)}")
    merged, again = _merged(node, step, merge, whole_had, whole_changed), computed(InputVersion.NOW, lossy)
    # The conditions leave out what an aggregate without keys answers for no rows.
    return _difference(
        node,
        had,
        [
            step.define(f"SELECT * FROM {merged} AS i WHERE NOT {is_lossy(node, shown)}"),
            step.define(f"SELECT * FROM {again} AS i WHERE {is_lossy(node, shown)}"),
        ],
    )


def _merged(node: Plan, step: DeltaStep, merge: Merge, had: str, changed: str) -> str:
    """The rows of groups that had ``had`` and, by ``changed``, only gain rows."""
    [part] = inputs(node)
    came = step.define(repeated(step.rendering.engine, f"SELECT * FROM {changed} WHERE n > 0", columns(part)))
    added = snapshot(node, step.rendering, [came])
    return step.define(merge(step.define(f"SELECT * FROM {had} UNION ALL SELECT * FROM ({added}) AS added")))


def _difference(node: Plan, had: str, has: Sequence[str]) -> str:
    names = select_list(columns(node))
    come = [f"SELECT {names}, CAST(1 AS BIGINT) AS n FROM {each}" for each in has]
    return " UNION ALL ".join([*come, f"SELECT {names}, CAST(-1 AS BIGINT) AS n FROM {had}"])


def _named(indexes: Sequence[int]) -> str:
    return select_list([f"c{index}" for index in indexes])

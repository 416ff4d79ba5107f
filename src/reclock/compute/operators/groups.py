"""What operators over groups share: a group that no change touches stays as it is, one that is touched is made anew or merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reclock.compute.operators.get import repeated
from reclock.compute.operators.rules import Among, State, Step, columns, select_list, snapshot
from reclock.compute.plan import Plan, inputs


def regrouped(
    node: Plan,
    step: Step,
    groups: Sequence[tuple[int, ...]],
    shown: tuple[int, ...] | None,
    merge: Callable[[str], str] | None = None,
) -> str:
    """The changes of a node whose rows of one group are made of its inputs' rows of that group alone.

    ``groups`` are the columns that tell groups apart, in each input, ``shown`` where the node itself has them, if it has. ``merge``
    makes a group's rows of those it had, and of what the node makes of the rows that came, given one relation of both: that does
    for groups that lost no row, if the maintained result shows what they had.
    """
    changes = [(changed, columns) for part, columns in zip(inputs(node), groups, strict=True) if (changed := step.changes(part))]
    keys = step.define(" UNION ".join(f"SELECT DISTINCT {_named(columns)} FROM {changed}" for changed, columns in changes))

    def whole(state: State, touched: str) -> str:
        parts = zip(inputs(node), groups, strict=True)
        given = [step.rows(part, state, Among(columns, touched)) for part, columns in parts]
        return step.define(snapshot(node, step.rendering, given))

    had = None if shown is None else step.result(node, Among(shown, keys))
    if had is None or merge is None or shown is None:
        return _difference(node, had or whole(State.BEFORE, keys), [whole(State.NOW, keys)])
    [(changed, own)] = changes
    counted = f"SELECT * FROM {changed} WHERE n > 0"
    came = step.define(repeated(step.rendering.engine, counted, columns(inputs(node)[0])))
    added = snapshot(node, step.rendering, [came])
    merged = step.define(merge(step.define(f"SELECT * FROM {had} UNION ALL SELECT * FROM ({added}) AS added")))
    if step.only_adds(inputs(node)[0]):
        return _difference(node, had, [merged])
    lossy = Among(shown, step.define(f"SELECT DISTINCT {_named(own)} FROM {changed} WHERE n < 0"))
    is_lossy = lossy.condition([f"i.{name}" for name in columns(node)])
    anew = whole(State.NOW, lossy.keys)
    return _difference(
        node,
        had,
        [
            step.define(f"SELECT * FROM {merged} AS i WHERE NOT {is_lossy}"),
            step.define(f"SELECT * FROM {anew} AS i WHERE {is_lossy}"),
        ],
    )


def _difference(node: Plan, had: str, has: Sequence[str]) -> str:
    names = select_list(columns(node))
    come = [f"SELECT {names}, CAST(1 AS BIGINT) AS n FROM {each}" for each in has]
    return " UNION ALL ".join([*come, f"SELECT {names}, CAST(-1 AS BIGINT) AS n FROM {had}"])


def _named(indexes: Sequence[int]) -> str:
    return select_list([f"c{index}" for index in indexes])

"""Computes the changes of a maintained plan from the changes of its inputs, by the delta rule of
each operator."""

from __future__ import annotations

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.compute import rendering
from reclock.compute.narrowing import narrowed
from reclock.compute.operators.rules import InputVersion, NoRuleByTime, columns, consolidated
from reclock.compute.steps.kept_rows import operators_without_rule, over_kept_rows
from reclock.compute.steps.new_rows import continued_recursion
from reclock.compute.steps.writer import DeltaInputs, StepReads, StepWriter
from reclock.plan.relational import Plan


def has_delta_rules(plan: Plan, *, is_kept: bool = True) -> bool:
    """Whether the plan's changes can be computed from those of its inputs: every operator has a
    rule that applies. ``is_kept`` says that the previous result can be read; a recursion that it
    shows is continued as long as the inputs only gain rows."""
    if is_kept and continued_recursion(plan):
        return True
    return not operators_without_rule(plan, is_kept=is_kept)


def render(
    plan: Plan,
    desc: RelationDesc | None,
    engine: str,
    step_inputs: DeltaInputs,
    reads: StepReads | None = None,
) -> str:
    """The changes of the plan's rows from ``before`` to ``as_of``: columns ``c0`` …, in a step by
    time ``mz_timestamp``, and ``mz_diff``, which is never zero.

    ``RESULT`` among the relations of ``step_inputs`` is the previous result, a collection of
    ``desc`` with the plan's rows before; without a desc there is none. The plan must be one that
    ``has_delta_rules``. With ``reads`` parts of the step are carried out while it is written, and
    the statement reads what these have stored.
    """
    step, shown, summed = _written(plan, desc, engine, step_inputs, reads)
    step.carry_out(summed)
    return _statement(step, shown, summed)


def render_for_inlining(
    plan: Plan, desc: RelationDesc | None, engine: str, step_inputs: DeltaInputs, scratch: str
) -> rendering.EngineStatement:
    """As ``render``, for an engine that computes a common table expression once for each place
    where it is read. Large ones that are read several times are stored, as relations whose names
    begin with ``scratch``."""
    step, shown, summed = _written(plan, desc, engine, step_inputs, None)
    shared = step.expressions.share(summed, scratch)
    return rendering.EngineStatement(_statement(step, shown, summed), shared=shared)


def _statement(step: StepWriter, shown: list[str], summed: str) -> str:
    clause = step.expressions.with_clause(summed)
    return f"{clause}SELECT {', '.join(shown)} FROM ({summed}) AS changed"


def _written(
    plan: Plan,
    desc: RelationDesc | None,
    engine: str,
    step_inputs: DeltaInputs,
    reads: StepReads | None,
) -> tuple[StepWriter, list[str], str]:
    """The step, the columns of its statement, and the SELECT that these read."""
    plan = narrowed(over_kept_rows(plan, is_kept=desc is not None))
    step = StepWriter(plan, desc, engine, step_inputs, reads)
    changes = step.changes(plan)
    if changes is None and step.by_time:
        raise NoRuleByTime
    names = columns(plan)
    if changes is None:
        changes = step.define(
            f"SELECT *, CAST(0 AS BIGINT) AS n FROM {step.rows(plan, InputVersion.NOW)} "
            "AS i WHERE FALSE"
        )
    step.confirm_unchanged_groups()
    if not step.by_time:
        summed = consolidated(f"SELECT * FROM {changes}", names)
        return step, [*names, f"n AS {DIFF_COLUMN}"], summed
    keys = ", ".join([*names, "t"])
    summed = (
        f"SELECT {keys}, CAST(sum(n) AS BIGINT) AS n FROM {changes} GROUP BY {keys} "
        "HAVING sum(n) <> 0"
    )
    return step, [*names, f"t AS {TIME_COLUMN}", f"n AS {DIFF_COLUMN}"], summed

"""The operators of the plan, one file for each, found in this package.

An operator has these rules, each a ``singledispatch`` function over the plan's nodes:

``snapshot(node, rendering, inputs)``
    The node as one SELECT in the engine's SQL, over the relations named ``inputs`` (its inputs in
    order, each with columns ``c0``, ``c1``, … in the order of its desc). Its own columns have such
    names too. Relations are multisets.

``demand(node, required)``
    The columns of each input that the node reads to compute its columns ``required``. The others
    may have any value of their type. So only columns that no rule of the node reads are left out,
    and a collection is read, and consolidated, in fewer columns.

``delta(node, step)``
    The changes of the node's output, from its inputs' changes and from what it may read of their
    rows, before or after, and of the result that it is part of. ``has_delta(node, is_shown)`` says
    whether the rule applies. A plan with a node without one is recomputed and compared
    (``compute.maintenance``).

``is_monotone(node)``
    Whether more input rows never give fewer output rows; the proof is in its docstring.

``origin(node, column)``
    Where a column comes from, so that a delta rule that needs some of an input's rows reads no
    others.

``matched_columns(node, side)``
    For a node of two inputs: by which columns the rows of one side decide which rows of the other
    are needed.
"""

import importlib
import pkgutil

from reclock.compute.operators.rules import (
    delta,
    demand,
    has_delta,
    is_monotone,
    matched_columns,
    origin,
    snapshot,
)

__all__ = ["delta", "demand", "has_delta", "is_monotone", "matched_columns", "origin", "snapshot"]

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)  # it registers its rules

"""The operators of the plan, one a file, registered here.

An operator has these rules, each a ``singledispatch`` function over the plan's nodes:

``snapshot(node, rendering, inputs)``
    The node as one SELECT in the engine's SQL, over the relations named ``inputs`` (its inputs in order, each with columns
    ``c0``, ``c1``, … in the order of its desc). Its own columns are named likewise. Relations are multisets.

``demand(node, wanted)``
    The columns of each input that the node reads to answer its own columns ``wanted``. Others may hold anything of their type,
    so only columns that no rule of the node reads are left out: a collection is then read, and consolidated, in fewer columns.

A delta rule joins them in the operator's own file: given its inputs' changes in ``[lower, upper)`` and what it may read at
``lower`` (inputs' arrangements, its own output), the changes of its output. A plan whose every node has one is maintained by rule;
until then ``compute.index`` recomputes and diffs.
"""

from reclock.compute.operators import (  # noqa: F401  (they register)
    constant,
    distinct,
    filter,
    flat_map,
    get,
    join,
    map,
    multisets,
    number,
    project,
    reduce,
    topk,
)
from reclock.compute.operators.rules import demand, snapshot

__all__ = ["demand", "snapshot"]

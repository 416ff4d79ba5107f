"""Walks over plans in which several nodes may read one: each node is visited once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set

from reclock.plan.relational import Plan, inputs, with_inputs


def nodes_by_id(plan: Plan) -> dict[int, Plan]:
    """Every node once, by its identity, inputs before their readers."""
    nodes: dict[int, Plan] = {}

    def visit(node: Plan) -> None:
        if id(node) not in nodes:
            for part in inputs(node):
                visit(part)
            nodes[id(node)] = node

    visit(plan)
    return nodes


_MOST_COPIES = 16


def not_to_copy(plan: Plan) -> frozenset[int]:
    """The nodes, by identity, that would be there more than 16 times if each reader had a copy.

    They stay one node, and are computed once, whatever their readers need of them. Otherwise the
    cost of a chain of queries, each of which reads the one before twice, would double with each.
    """
    nodes = nodes_by_id(plan)
    copies = dict.fromkeys(nodes, 0)
    copies[id(plan)] = 1
    for key, node in reversed(nodes.items()):
        for part in inputs(node):
            copies[id(part)] += copies[key]
    return frozenset(key for key, count in copies.items() if count > _MOST_COPIES)


def parts_computed_once(plan: Plan) -> frozenset[int]:
    """Those of the nodes that are not to copy, by identity, that have several readers."""
    nodes = nodes_by_id(plan)
    readers = Counter(id(part) for node in nodes.values() for part in inputs(node))
    return frozenset(key for key in not_to_copy(plan) if readers[key] > 1)


def nodes_of(plan: Plan) -> list[Plan]:
    """Every node once, inputs before their readers."""
    return list(nodes_by_id(plan).values())


def rewritten(plan: Plan, rewrite: Callable[[Plan], Plan]) -> Plan:
    """``plan`` with what ``rewrite`` makes of each node, which is over rewritten inputs when it is
    rewritten. A node that several nodes read is rewritten once and stays one node."""
    return rewritten_around(plan, lambda node, whole: rewrite(node))


def rewritten_around(plan: Plan, rewrite: Callable[[Plan, Set[int]], Plan]) -> Plan:
    """As ``rewritten``, for what also rewrites nodes below. It is given the identities of those
    that it has to leave as they are (see ``not_to_copy``)."""
    results, not_copied, whole = dict[int, Plan](), not_to_copy(plan), set[int]()
    for key, node in nodes_by_id(plan).items():
        over_results = with_inputs(node, [results[id(part)] for part in inputs(node)])
        results[key] = rewrite(over_results, whole)
        if key in not_copied:
            whole.add(id(results[key]))
    return results[id(plan)]

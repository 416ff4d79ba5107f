"""When operations of a history must have happened, by what others saw of them: so that the search
need not try the rest.

A value is written once, and a list never loses one. So who saw it came after its writer; who saw
its list without it came before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from histories.linearizability import Operation
from histories.models import LISTS, Key, Transaction

_ROUNDS = 2
"""More make the bounds no much tighter."""


@dataclass(slots=True)
class _Span:
    began: float
    returned: float


def bounded(history: Iterable[Operation]) -> list[Operation]:
    """The same operations, each within a shorter time, such that exactly the same orders of them
    are possible."""
    operations = list(history)
    spans = [
        _Span(operation.began, math.inf if operation.returned is None else operation.returned)
        for operation in operations
    ]
    order = sorted(set(_ordered(operations)))
    for _ in range(_ROUNDS):
        for before, after in order:
            spans[after].began = max(spans[after].began, spans[before].began)
            spans[before].returned = min(spans[before].returned, spans[after].returned)
    return [
        Operation(
            int(span.began),
            None if span.returned == math.inf else int(span.returned),
            operation.call,
        )
        for operation, span in zip(operations, spans, strict=True)
    ]


def _ordered(operations: list[Operation]) -> Iterable[tuple[int, int]]:
    """Pairs of operations of which the first came before the second, if both happened. Only of
    reads that did."""
    writers: dict[tuple[Key, int], tuple[int, bool]] = {}
    for number, operation in enumerate(operations):
        for step in operation.call.steps if isinstance(operation.call, Transaction) else ():
            if step.kind in ("append", "insert", "update") and step.value is not None:
                writers[step.key, step.value] = number, step.kind == "append"
    for number, operation in enumerate(operations):
        if operation.returned is None or not isinstance(operation.call, Transaction):
            continue
        for step in operation.call.steps:
            if step.kind != "read":
                continue
            assert isinstance(step.answer, tuple)
            for (key, value), (writer, is_append) in writers.items():
                if key != step.key or writer == number:
                    continue
                if value in step.answer:
                    yield writer, number
                elif is_append:
                    yield number, writer
            if step.key[0] in LISTS:
                yield from (
                    (writers[step.key, before][0], writers[step.key, after][0])
                    for before, after in pairwise(step.answer)
                    if {(step.key, before), (step.key, after)} <= writers.keys()
                )

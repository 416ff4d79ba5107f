"""The common table expressions of a step: named once, inlined or stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_NAME = re.compile(r"\bn\d+\b")
"""Matches the names of relations that a step defines. A user's column with such a name only makes a
step longer."""

_INLINED_EXPRESSIONS = 32
"""How many expressions more than once a step may compute for one that it does not store. The least
plan that needs it, an aggregate over an outer join, has 58 and takes Spark minutes to plan."""


@dataclass(slots=True)
class StepExpressions:
    """The relations that a step defines. Each has a name, and equal SELECTs are one relation."""

    _names: dict[object, str] = field(default_factory=dict)
    """By what the relation answers."""
    _defined: dict[str, str] = field(default_factory=dict)
    """The names of all relations, by SELECT."""
    _expressions: dict[str, str] = field(default_factory=dict)
    """The SELECTs that are not stored, by name. Each reads only earlier ones."""
    _parts: dict[str, frozenset[str]] = field(default_factory=dict)
    """By name: the relations that each of these reads itself."""
    _few: set[str] = field(default_factory=set)
    """The relations whose size follows that of the change: changes, keys, and rows looked up by
    key."""
    _thin: set[str] = field(default_factory=set)
    """The relations that are another one's rows, chosen or rearranged: cheaper to read than to
    store."""

    def define(self, select: str, *, is_few: bool = False, is_thin: bool = False) -> str:
        """The name of the relation that ``select`` is."""
        name = self._defined.get(select)
        if name is None:
            name = self._defined[select] = f"n{len(self._defined)}"
            self._parts[name] = frozenset(_NAME.findall(select)) & self._parts.keys()
            self._expressions[name] = select
            if is_thin:
                self._thin.add(name)
        if is_few:
            self._few.add(name)
        return name

    def name_of(self, key: object) -> str | None:
        """The relation that was defined for ``key``, if any."""
        return self._names.get(key)

    def define_once(
        self, key: object, select: Callable[[], str], *, is_few: bool = False, is_thin: bool = False
    ) -> str:
        """The relation defined for ``key``. Only its first use computes the SELECT."""
        if key not in self._names:
            self._names[key] = self.define(select(), is_few=is_few, is_thin=is_thin)
        return self._names[key]

    def is_few(self, name: str) -> bool:
        """Whether the relation's size follows that of the change."""
        return name in self._few

    def with_clause(self, select: str) -> str:
        """The WITH clause of ``select``: the expressions that it needs and that are not stored."""
        inlined = self._inlined(frozenset(_NAME.findall(select)))
        chain = ",\n".join(
            f"{name} AS ({self._expressions[name]})"
            for name in self._expressions
            if name in inlined
        )
        return f"WITH {chain}\n" if chain else ""

    def share(self, select: str, scratch: str) -> tuple[tuple[str, str], ...]:
        """Replace the expressions that would be computed too often for ``select`` by reads of
        stored relations. Returns these: their names and SELECTs, in order."""
        inlined = self._inlined(frozenset(_NAME.findall(select)))
        reads = {
            name: [
                part for part in _NAME.findall(self._expressions[name]) if part in self._parts[name]
            ]
            for name in inlined
        }
        uses = Counter(_NAME.findall(select))
        uses.update(part for parts in reads.values() for part in parts)
        sizes: dict[str, int] = {}
        shared = []
        for name in [name for name in self._expressions if name in inlined]:
            sizes[name] = 1 + sum(sizes[part] for part in reads[name])
            is_stored = name in self._few and name not in self._thin
            if is_stored and sizes[name] * (uses[name] - 1) > _INLINED_EXPRESSIONS:
                expression = self._expressions[name]
                shared.append((f"{scratch}{name}", self.whole(expression)))
                self._expressions[name] = f"SELECT * FROM {scratch}{name}"
                self._parts[name] = frozenset()
                sizes[name] = 1
        return tuple(shared)

    def read_by_several(self, statements: Sequence[str]) -> frozenset[str]:
        """The small relations that would be computed in more than one of the statements, unless
        they are stored. A statement that stores one counts too."""
        readers: dict[str, set[object]] = {name: set() for name in self._expressions}

        def read(select: str, by: set[object]) -> None:
            for name in frozenset(_NAME.findall(select)) & readers.keys():
                readers[name] |= by

        for number, statement in enumerate(statements):
            read(statement, {number})
        several = set()
        for name, select in reversed(self._expressions.items()):
            if len(readers[name]) > 1 and name in self._few - self._thin:
                several.add(name)
                readers[name] = {name}
            read(select, readers[name])
        return frozenset(several)

    def store(self, names: frozenset[str], select: str, store: Callable[[str, str], None]) -> None:
        """Call ``store`` with the name and the SELECT of each of the relations ``names`` that
        ``select`` is made of. What is stored is no expression any more."""
        inlined = self._inlined(frozenset(_NAME.findall(select)))
        for name in [name for name in self._expressions if name in inlined & names]:
            store(name, self.whole(self._expressions.pop(name)))

    def whole(self, select: str) -> str:
        """``select`` with its WITH clause."""
        return self.with_clause(select) + select

    def _inlined(self, names: frozenset[str]) -> set[str]:
        """Which of the relations ``names``, and of those that these read, are not stored."""
        inlined: set[str] = set()
        queue = list(names)
        while queue:
            name = queue.pop()
            if name in self._expressions and name not in inlined:
                inlined.add(name)
                queue += self._parts[name]
        return inlined

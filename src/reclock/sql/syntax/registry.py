"""The rules that parse statements, each registered by its family for the words that the statement
begins with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from reclock.sql.syntax.nodes import Statement

Rule = Callable[[Any], Statement]
"""Takes the parser, after the words of the phrase."""
Alteration = Callable[[Any, Any, bool], Statement]
"""Takes the parser after ``ALTER kind [IF EXISTS] name``, the name, and whether IF EXISTS was
written."""
R = TypeVar("R", bound=Rule)
A = TypeVar("A", bound=Alteration)


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a statement begins with, after its first word: modifiers, then its subject. Each of
    them matches as a whole."""

    units: tuple[tuple[str, ...], ...]
    rule: Rule


_PHRASES: dict[str, list[Phrase]] = {}
_ALTERATIONS: dict[str, Alteration] = {}


def parses(*patterns: str) -> Callable[[R], R]:
    """Registers the rule of the statements that begin so. ``(A B|C)`` is ``A B`` or ``C``, ``[A
    B|C]`` also nothing; ``A|B`` is either word."""

    def register(rule: R) -> R:
        for pattern in patterns:
            for verb, *units in _expanded(pattern):
                assert all(units != list(phrase.units) for phrase in _PHRASES.get(verb[0], ())), (
                    pattern
                )
                _PHRASES.setdefault(verb[0], []).append(Phrase(tuple(units), rule))
        return rule

    return register


def alters(kind: str) -> Callable[[A], A]:
    """Registers what parses the changes that only objects of ``kind`` have, after ``ALTER kind
    name``."""

    def register(alteration: A) -> A:
        assert kind not in _ALTERATIONS, kind
        _ALTERATIONS[kind] = alteration
        return alteration

    return register


def phrases_of(verb: str) -> list[Phrase]:
    """The phrases that begin with ``verb``."""
    return _PHRASES.get(verb, [])


def alteration_of(kind: str) -> Alteration | None:
    return _ALTERATIONS.get(kind)


def _expanded(pattern: str) -> Iterator[tuple[tuple[str, ...], ...]]:
    """The sequences of units that ``pattern`` stands for: its first word, the modifiers, the words
    that remain."""
    verbs, _, modifiers_and_subject = pattern.partition(" ")
    groups = re.findall(r"([\[(])(.*?)[\])]", modifiers_and_subject)
    modifiers = [
        (*([""] if bracket == "[" else []), *group.split("|")) for bracket, group in groups
    ]
    words = [
        word.split("|") for word in re.sub(r"[\[(].*?[\])]", "", modifiers_and_subject).split()
    ]
    subjects = [" ".join(chosen) for chosen in product(*words)]
    for units in product(verbs.split("|"), *modifiers, subjects):
        yield tuple(tuple(unit.split()) for unit in units if unit)

"""Where in its text a statement is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import count

from sqlglot import exp

from reclock.errors import ReclockError

_numbers = count(1)
_NUMBER, _TEXT = "statement", "text"
_statement: ContextVar[exp.Expr | None] = ContextVar("statement", default=None)


def begin_statement(statement: exp.Expr, text: str) -> int:
    """A number for the words of a statement, which no other statement has. ``text`` is the whole one
    that the words are counted in."""
    number = next(_numbers)
    statement.meta.update({_NUMBER: number, _TEXT: text})
    return number


def number_word(node: exp.Expr, number: int) -> None:
    """Give ``node``, and so its copies, the number of its statement, if it has a place."""
    if "start" in node.meta:
        node.meta[_NUMBER] = number


@contextmanager
def places_in(statement: exp.Expr) -> Iterator[None]:
    """Errors have places in the text of this statement meanwhile. Not all that is planned for it is
    written there: the body of a function is not."""
    token = _statement.set(statement)
    try:
        yield
    except ReclockError as error:
        if error.position is None and isinstance(error.__cause__, ReclockError):
            error.position = error.__cause__.position
        raise
    finally:
        _statement.reset(token)


def place_of(node: exp.Expr) -> int | None:
    """Where the first word of ``node`` is in the text of the statement, in characters from 1."""
    return min((start + 1 for start, _ in _words(node)), default=None)


def place_of_word(node: exp.Expr) -> int | None:
    """Where the key word or the sign is that makes ``node``, such as the ``::`` of a cast."""
    statement = _statement.get()
    number = statement.meta.get(_NUMBER) if statement is not None else None
    if number is None or node.meta.get(_NUMBER) != number or "start" not in node.meta:
        return None
    start: int = node.meta["start"]
    return start + 1


def place_of_sign(node: exp.Expr, sign: str) -> int | None:
    """Where the operator between the operands of ``node`` is."""
    statement = _statement.get()
    ends = [end for _, end in _words(node.this)]
    if statement is None or not ends:
        return None
    behind = re.compile(
        rf"(?:\s*\([^()]*\))?.*?({_OTHER_SIGNS.get(sign, re.escape(sign))})", re.S | re.I
    )
    matched = behind.match(statement.meta[_TEXT], max(ends) + 1)
    return matched and matched.start(1) + 1


_OTHER_SIGNS = {
    "<>": "<>|!=",
    "BETWEEN": r"\bbetween\b|\bnot\s+between\b",
    "IN": r"\bin\b|\bnot\s+in\b",
    "LIKE": r"\blike\b|\bnot\s+like\b|!?~~",
    "ILIKE": r"\bilike\b|\bnot\s+ilike\b|!?~~\*",
}


def _words(node: exp.Expr) -> Iterator[tuple[int, int]]:
    """The first and the last character of each word that the statement has in ``node``."""
    statement = _statement.get()
    number = statement.meta.get(_NUMBER) if statement is not None else None
    for part in node.walk():
        if number is not None and part.meta.get(_NUMBER) == number and "start" in part.meta:
            yield part.meta["start"], part.meta["end"]


class at(AbstractContextManager[None]):
    """Errors of these ``kinds`` within that have no place are at the first word of ``node``, or at its
    ``sign``, or where ``place`` says."""

    __slots__ = ("_kinds", "_node", "_place", "_sign")

    def __init__(
        self,
        node: exp.Expr,
        *kinds: type[ReclockError],
        sign: str = "",
        place: Callable[[exp.Expr], int | None] = place_of,
    ) -> None:
        self._node, self._kinds, self._sign = node, kinds or (ReclockError,), sign
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if (
            isinstance(error, ReclockError)
            and isinstance(error, self._kinds)
            and error.position is None
        ):
            sign = self._sign
            place = place_of_sign(self._node, sign) if sign else self._place(self._node)
            error.position = place

"""Privileges as the catalog keeps them: letters, and items ``grantee=letters/grantor``, as in PostgreSQL and Materialize."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

PUBLIC_ROLE_ID = "p"
"""Stands for every role in privileges; no role has it."""


class Privilege(StrEnum):
    """What can be granted. The value is the letter that stands for it, in the order they are written in."""

    INSERT = "a"
    SELECT = "r"
    UPDATE = "w"
    DELETE = "d"
    USAGE = "U"
    CREATE = "C"
    CREATEROLE = "R"
    CREATEDB = "B"
    CREATECLUSTER = "N"


LETTERS = "".join(Privilege)


def letters(privileges: Iterable[str]) -> str:
    """The letters of ``privileges``, each once, in their order."""
    return "".join(sorted(set(privileges), key=LETTERS.index))


def names(privileges: str) -> list[str]:
    """What the letters stand for."""
    return [Privilege(letter).name for letter in privileges]


@dataclass(frozen=True, slots=True)
class AclItem:
    """What ``grantee`` (a role's id, or ``PUBLIC_ROLE_ID``) was granted by ``grantor``."""

    grantee: str
    privileges: str
    grantor: str

    def __post_init__(self) -> None:
        check_letters(self.privileges)

    def __str__(self) -> str:
        return f"{'' if self.grantee == PUBLIC_ROLE_ID else self.grantee}={self.privileges}/{self.grantor}"


Acl = tuple[AclItem, ...]


def check_letters(privileges: str) -> None:
    """Raises ``ValueError`` unless ``privileges`` are letters, each once, in their order, at least one."""
    if not privileges or not set(privileges) <= set(LETTERS) or letters(privileges) != privileges:
        raise ValueError(f'"{privileges}" are not privileges: letters of {LETTERS}, each once, in this order')


def granted(acl: Acl, grantee: str, privileges: str, grantor: str) -> Acl:
    """``acl`` and these privileges. There is one item of a grantee and grantor."""
    held = {(item.grantee, item.grantor): item.privileges for item in acl}
    held[grantee, grantor] = letters(held.get((grantee, grantor), "") + privileges)
    return tuple(AclItem(of, letters, by) for (of, by), letters in held.items())


def revoked(acl: Acl, grantee: str, privileges: str = LETTERS) -> Acl:
    """``acl`` without these privileges of ``grantee``, whoever granted them."""
    return tuple(
        AclItem(item.grantee, left, item.grantor)
        for item in acl
        if (left := item.privileges if item.grantee != grantee else without(item.privileges, privileges))
    )


def without(privileges: str, gone: str) -> str:
    return "".join(letter for letter in privileges if letter not in gone)


def with_owner(acl: Acl, old: str, new: str) -> Acl:
    """``acl`` after the owner changed: what the old one granted counts as the new one's; an owner needs no grant of its own."""
    changed: Acl = ()
    for item in acl:
        if item.grantee != new:
            changed = granted(changed, item.grantee, item.privileges, new if item.grantor == old else item.grantor)
    return changed

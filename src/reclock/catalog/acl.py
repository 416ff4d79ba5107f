"""Privileges in the catalog: letters, and items ``grantee=letters/grantor``, as in PostgreSQL and
Materialize."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

PUBLIC_ROLE_ID = "p"
"""The id that stands for every role in privileges. No role has it."""


class Privilege(StrEnum):
    """A privilege that can be granted. Its value is its letter. The order is that in which the
    letters are written."""

    INSERT = "a"
    SELECT = "r"
    UPDATE = "w"
    DELETE = "d"
    EXECUTE = "X"
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
    """The names of the privileges that the letters stand for."""
    return [Privilege(letter).name for letter in privileges]


@dataclass(frozen=True, slots=True)
class AclItem:
    """The privileges that ``grantor`` granted to ``grantee`` (a role's id, or
    ``PUBLIC_ROLE_ID``)."""

    grantee: str
    privileges: str
    grantor: str

    def __post_init__(self) -> None:
        check_letters(self.privileges)

    def __str__(self) -> str:
        return f"{'' if self.grantee == PUBLIC_ROLE_ID else self.grantee}={self.privileges}/{self.grantor}"


Acl = tuple[AclItem, ...]


def check_letters(privileges: str) -> None:
    """Raises ``ValueError`` unless ``privileges`` are letters, at least one, each once and in
    order."""
    if not privileges or not set(privileges) <= set(LETTERS) or letters(privileges) != privileges:
        raise ValueError(
            f'"{privileges}" are not privileges: letters of {LETTERS}, each once, in this order'
        )


def granted(acl: Acl, grantee: str, privileges: str, grantor: str) -> Acl:
    """``acl`` with these privileges added. It has one item for each grantee and grantor."""
    held = {(item.grantee, item.grantor): item.privileges for item in acl}
    held[grantee, grantor] = letters(held.get((grantee, grantor), "") + privileges)
    return tuple(AclItem(grantee, letters, grantor) for (grantee, grantor), letters in held.items())


def revoked(acl: Acl, grantee: str, privileges: str = LETTERS) -> Acl:
    """``acl`` without these privileges of ``grantee``, from all grantors."""
    return tuple(
        AclItem(item.grantee, remaining, item.grantor)
        for item in acl
        if (
            remaining := item.privileges
            if item.grantee != grantee
            else without(item.privileges, privileges)
        )
    )


def without(privileges: str, removed: str) -> str:
    return "".join(letter for letter in privileges if letter not in removed)


def with_owner(acl: Acl, old: str, new: str) -> Acl:
    """``acl`` after the owner changed: the new owner becomes the grantor of the old one's grants,
    and needs no grant itself."""
    changed: Acl = ()
    for item in acl:
        if item.grantee != new:
            changed = granted(
                changed, item.grantee, item.privileges, new if item.grantor == old else item.grantor
            )
    return changed

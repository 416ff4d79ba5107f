"""``char(n)``: texts without the blanks at their end, which do not count in comparisons."""

from __future__ import annotations

from reclock.algebra.relations import BPCHAR
from reclock.algebra.textual.description import TextualType


def normal_form(text: str) -> str:
    return text.rstrip(" ")


CHARACTERS = TextualType(
    BPCHAR,
    oid=1042,
    array_oid=1014,
    size=-1,
    category="S",
    functions=(1044, 1045, 2430, 2431),
    normal_form=normal_form,
    to_binary=str.encode,
    from_binary=lambda raw: normal_form(raw.decode()),
    has_extremes=True,
)

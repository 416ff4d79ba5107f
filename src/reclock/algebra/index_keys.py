"""What an index clusters the rows of its relation by."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reclock.algebra.relations import Column

EXPRESSION = "expr"
"""What a part that is no column is called."""
DEFAULT_SUFFIX = "_primary_idx"
"""What the name of a default index ends with, by which a materialized view is kept; a number
follows if the name was taken."""


def is_default_name(name: str) -> bool:
    """Whether an index of this name is one that Reclock made and named itself."""
    return re.search(rf"{DEFAULT_SUFFIX}[0-9]*$", name) is not None


COLLATIONS = {"default": "", "c": '"C"', "posix": '"POSIX"', "ucs_basic": "ucs_basic"}
"""The collations, as PostgreSQL writes them in the definition of an index."""
COLLATION_OIDS = {"": 100, '"C"': 950, '"POSIX"': 951, "ucs_basic": 962}
SHOWN_CLASS_ENDING = "_pattern_ops"
"""What the names of the classes of operators for b-trees end with that are no default."""
_ORDER = re.compile(
    r"(?:COLLATE (?P<collation>\S+))? ?(?P<operators>\w+_ops)? ?(?P<descending>DESC)?"
    r" ?(?:NULLS (?P<nulls>FIRST|LAST))?"
)


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """The order in which PostgreSQL would keep the entries of an index by one of its keys."""

    collation: str = ""
    operator_class: str = ""
    is_descending: bool = False
    nulls_first: bool = False

    @classmethod
    def of(cls, sql: str) -> KeyOrder:
        """The order that ``sql`` of another one says."""
        words = _ORDER.fullmatch(sql)
        assert words is not None, sql
        is_descending = words["descending"] is not None
        nulls_first = is_descending if words["nulls"] is None else words["nulls"] == "FIRST"
        collation, operators = words["collation"] or "", words["operators"] or ""
        return cls(collation, operators, is_descending, nulls_first)

    @property
    def sql(self) -> str:
        """As PostgreSQL writes it after the key: what is usual is left out."""
        nulls = ""
        if self.nulls_first != self.is_descending:
            nulls = "NULLS FIRST" if self.nulls_first else "NULLS LAST"
        collation = f"COLLATE {self.collation}" if self.collation else ""
        words = (collation, self.operator_class, "DESC" if self.is_descending else "", nulls)
        return " ".join(filter(None, words))

    @property
    def option(self) -> int:
        """The bits of ``pg_index.indoption``."""
        return self.is_descending + 2 * self.nulls_first


DEFAULT_ORDER = KeyOrder()


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The column at ``position`` of the relation, or, without one, an expression over its columns.
    ``sql`` is how it is written, without its ``order``."""

    column: Column
    sql: str
    position: int | None = None
    order: KeyOrder = DEFAULT_ORDER

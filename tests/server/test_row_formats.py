"""How rows are sent is made once for each description of them."""

from __future__ import annotations

import pytest

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.errors import ProtocolViolation
from reclock.server.rows import RowFormats

UTC = "UTC"


def desc() -> RelationDesc:
    return RelationDesc((Column("a", TEXT), Column("b", TEXT)))


def test_a_repeated_statement_has_the_same_format() -> None:
    formats, described = RowFormats(), desc()
    first = formats.of(described, (1,), UTC)
    assert formats.of(described, (1,), UTC) is first
    assert formats.of(described, (0,), UTC).description != first.description
    assert formats.of(described, (1,), "Europe/Berlin") is not first


def test_many_formats_are_not_kept_for_ever() -> None:
    formats, described = RowFormats(), desc()
    first = formats.of(described, (), UTC)
    for _ in range(100):
        formats.of(desc(), (), UTC)
    assert formats.of(described, (), UTC) is not first


def test_a_wrong_number_of_format_codes_is_refused() -> None:
    with pytest.raises(ProtocolViolation, match="3 result formats but query has 2 columns"):
        RowFormats().of(desc(), (0, 1, 0), UTC)

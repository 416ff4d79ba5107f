"""How rows are sent is made once for each description of them."""

from __future__ import annotations

import pytest

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.text_style import PLAIN_TEXT, TextStyle
from reclock.errors import ProtocolViolation
from reclock.server.rows import RowFormats


def desc() -> RelationDesc:
    return RelationDesc((Column("a", TEXT), Column("b", TEXT)))


def test_a_repeated_statement_has_the_same_format() -> None:
    formats, described = RowFormats(), desc()
    first = formats.of(described, (1,), PLAIN_TEXT)
    assert formats.of(described, (1,), PLAIN_TEXT) is first
    assert formats.of(described, (0,), PLAIN_TEXT).description != first.description
    assert formats.of(described, (1,), TextStyle("Europe/Berlin")) is not first


def test_many_formats_are_not_kept_for_ever() -> None:
    formats, described = RowFormats(), desc()
    first = formats.of(described, (), PLAIN_TEXT)
    for _ in range(100):
        formats.of(desc(), (), PLAIN_TEXT)
    assert formats.of(described, (), PLAIN_TEXT) is not first


def test_a_wrong_number_of_format_codes_is_refused() -> None:
    with pytest.raises(ProtocolViolation, match="3 result formats but query has 2 columns"):
        RowFormats().of(desc(), (0, 1, 0), PLAIN_TEXT)

"""Records end at newlines outside quotes, however the bytes are cut into chunks."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.definitions.formats import CsvFormat
from reclock.errors import HeaderMismatch
from reclock.formats.records import last_end, parse_header, record_ends

text = st.lists(st.sampled_from([b"a", b",", b'"', b"\n", b'""']), max_size=30).map(b"".join)
QUOTES = [b'"', None]


def ends_by_definition(content, quote):
    is_open, ends = False, []
    for at, character in enumerate(content):
        if quote and character == quote[0]:
            is_open = not is_open
        elif character == ord("\n") and not is_open:
            ends.append(at + 1)
    return ends


@given(text, st.sampled_from(QUOTES))
def test_record_ends_are_the_newlines_outside_quotes(content, quote):
    assert record_ends(content, quote).tolist() == ends_by_definition(content, quote)


@given(text, st.sampled_from(QUOTES), st.lists(st.integers(0, 30), max_size=4))
def test_the_last_end_is_found_chunk_by_chunk(content, quote, cuts):
    edges = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    end_so_far, is_open = 0, False
    for lower, upper in itertools.pairwise(edges):
        end, is_open = last_end(content[lower:upper], quote, is_open)
        end_so_far = lower + end if end else end_so_far
    assert end_so_far == max(ends_by_definition(content, quote), default=0)
    assert is_open == bool(quote and content.count(quote) % 2)


DESC = RelationDesc((Column("a", INTEGER), Column("b c", INTEGER)))


@pytest.mark.parametrize("header", [b"a,b c\n", b'"b c",a\r\n', b"\xef\xbb\xbfa, b c\n"])
def test_a_header_names_the_declared_columns_in_any_order(header):
    assert sorted(parse_header(header, "k", CsvFormat(), DESC)) == ["a", "b c"]


def test_a_header_may_name_columns_that_are_not_declared():
    assert parse_header(b"x,b c,,a,,x\n", "k", CsvFormat(), DESC) == ("x", "b c", "", "a", "", "x")


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (b"a\n", 'header: "a"; missing: "b c"; the header has no delimiter \',\''),
        (b"a,B c,d\n", 'missing: "b c"; not declared: "B c", "d"'),
        (b"a,b c,a\n", 'named more than once: "a"'),
        (b"A,b c\n", "upper and lower case count"),
        (b"a;b c\n", "the header has no delimiter ','; DELIMITED BY names another"),
        (b"\xff\n", "not UTF-8"),
        (b"\n", 'missing: "a", "b c"'),
    ],
)
def test_another_header_fails_with_its_columns_and_those_of_the_source(header, complaint):
    with pytest.raises(HeaderMismatch, match='header of "k"') as failure:
        parse_header(header, "k", CsvFormat(), DESC)
    assert complaint in failure.value.detail
    assert "UTF-8" in complaint or 'source: "a", "b c"; ' in failure.value.detail
    assert "SKIP 'k'" in failure.value.hint
    assert " FROM " not in failure.value.hint

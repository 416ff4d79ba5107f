"""Patterns of object keys mean what the field means by them."""

import pytest

from reclock.connectors.objects.patterns import compile_pattern, literal_prefix
from reclock.errors import InvalidOption


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.csv", ["a.csv", ".csv"], ["a/b.csv", "a.csv2", "acsv"]),
        ("**/*.csv", ["a.csv", "a/b.csv", "a/b/c.csv"], ["a.json"]),
        (
            "flights/**/*.csv",
            ["flights/a.csv", "flights/2013/01/a.csv"],
            ["flights.csv", "x/flights/a.csv"],
        ),
        ("flights/**", ["flights/a", "flights/b/c"], ["flights"]),
        ("**", ["a", "a/b"], []),
        ("a/*/c", ["a/b/c"], ["a/c", "a/b/b/c"]),
        ("y=201?/m", ["y=2013/m"], ["y=20/m/m", "y=201/m"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "/x"]),
        ("[!a-c]x", ["dx"], ["ax", "/x"]),
        ("[]-]", ["]", "-"], ["a"]),
        ("*.{csv,tsv}", ["a.csv", "b.tsv"], ["a.json"]),
        ("a,b", ["a,b"], ["a", "b"]),
        (r"a\*", ["a*"], ["ab"]),
        ("a.b+(c)|d$^", ["a.b+(c)|d$^"], ["axb+(c)|d$^"]),
        ("exact/key.csv", ["exact/key.csv"], ["exact/key.csv/more"]),
    ],
)
def test_a_pattern_matches_whole_keys(pattern, matching, other):
    compiled = compile_pattern(pattern)
    assert [key for key in matching + other if compiled.fullmatch(key)] == matching
    assert all(key.startswith(literal_prefix(pattern)) for key in matching)


@pytest.mark.parametrize(
    "pattern", ["a**", "**b", "a/**b/c", "[a", "[]", "{a,b", "a}", "{a,{b,c}}", "[z-a]"]
)
def test_a_malformed_pattern_is_refused(pattern):
    with pytest.raises(InvalidOption, match="invalid object pattern"):
        compile_pattern(pattern)

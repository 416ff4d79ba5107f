"""Functions of text by single characters, and text forms of numbers."""

from __future__ import annotations

from reclock.algebra.relations import BIGINT, INTEGER, TEXT, TypeName
from reclock.plan.functions.letters import in_case
from reclock.plan.functions.registry import Site, Writer, scalar
from reclock.plan.functions.sql_names import raised, string
from reclock.plan.functions.typing import exact

_LARGEST_CODE_POINT = 0x10FFFF


def _character(engine: str) -> Writer:
    def write(site: Site) -> str:
        code = site.arguments[0]
        negative = raised(engine, "22023", "'character number must be positive'")
        null = raised(engine, "54000", "'null character not permitted'")
        out_of_range = raised(engine, "54000", "'requested character not valid for encoding'")
        decoded = f"chr({code})"
        if engine == "spark":  # its char() takes the number modulo 256
            decoded = f"decode(unhex(lpad(hex({code}), 8, '0')), 'UTF-32')"
        return (
            f"(CASE WHEN {code} < 0 THEN {negative} WHEN {code} = 0 THEN {null}"
            f" WHEN {code} > {_LARGEST_CODE_POINT}"
            f" OR {code} BETWEEN 55296 AND 57343 THEN {out_of_range} ELSE {decoded} END)"
        )

    return write


def _initials(engine: str) -> Writer:
    """``initcap``: words consist of letters and digits."""

    def write(site: Site) -> str:
        parts = string(engine, r"[\p{L}\p{N}]+|[^\p{L}\p{N}]+")
        first = in_case("upper", engine, "substring(word, 1, 1)")
        following = in_case("lower", engine, "substring(word, 2)")
        text = site.arguments[0]
        if engine == "duckdb":
            words = f"regexp_extract_all({text}, {parts})"
            return (
                f"array_to_string(list_transform({words}, lambda word: {first} || {following}), '')"
            )
        words = f"regexp_extract_all({text}, {parts}, 0)"
        return f"array_join(transform({words}, word -> {first} || {following}), '')"

    return write


def _overlaid(engine: str) -> Writer:
    def write(site: Site) -> str:
        text, part, start = site.arguments[:3]
        length = site.arguments[3] if len(site.arguments) == 4 else f"length({part})"
        error = raised(engine, "22011", "'negative substring length not allowed'")
        after = f"({start} + {length})"
        rest = f"substring({text}, CASE WHEN {after} < 1 THEN 1 ELSE {after} END)"
        before = f"substring({text}, 1, {start} - 1)"
        return f"(CASE WHEN {start} < 1 THEN {error} ELSE {before} || {part} || {rest} END)"

    return write


def _hexadecimal(site: Site) -> str:
    """Of a negative number the two's complement, in the bytes of its type."""
    number = site.arguments[0]
    if site.types[0].name is TypeName.BIGINT:
        return f"lower(hex({number}))"
    return f"lower(hex(CAST({number} AS BIGINT) & 4294967295))"


scalar(
    "ascii",
    "The code point of the first character; 0 for an empty text.",
    exact(((TEXT,), INTEGER)),
    duckdb="(CASE WHEN {0} = '' THEN 0 ELSE unicode({0}) END)",
    spark="ascii({0})",
)
scalar(
    "chr",
    "The character with a code point.",
    exact(((INTEGER,), TEXT)),
    duckdb=_character("duckdb"),
    spark=_character("spark"),
)
scalar(
    "initcap",
    "The first letter of each word in upper case, the others in lower case.",
    exact(((TEXT,), TEXT)),
    duckdb=_initials("duckdb"),
    spark=_initials("spark"),
)
scalar(
    "translate",
    "Each character of the second text replaced by the one at its place in the third, or removed.",
    exact(((TEXT, TEXT, TEXT), TEXT)),
    "translate({0}, {1}, {2})",
)
scalar(
    "overlay",
    "The text with the part from an index on, of a length, replaced by the second text.",
    exact(((TEXT, TEXT, INTEGER), TEXT), ((TEXT, TEXT, INTEGER, INTEGER), TEXT)),
    duckdb=_overlaid("duckdb"),
    spark=_overlaid("spark"),
)
scalar(
    "to_hex",
    "The number in hexadecimal.",
    exact(((INTEGER,), TEXT), ((BIGINT,), TEXT)),
    _hexadecimal,
)

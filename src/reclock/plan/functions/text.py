"""Functions of text. Characters are code points; comparison and order are those of the UTF-8
bytes."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import (
    BOOLEAN,
    BYTEA,
    INTEGER,
    NAME,
    TEXT,
    ScalarType,
    TextLimit,
    TypeName,
    array,
    char,
)
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions.array_sql import innermost
from reclock.plan.functions.arrays import Signature
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.letters import in_case
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element, raised, string
from reclock.plan.functions.typing import exact


def _texts(at_least: int, *, needs_text: bool) -> Resolver:
    def resolve(
        types: Types, constants: Mapping[int, object]
    ) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
        if len(types) < at_least:
            return None
        if needs_text and BYTEA in types and set(types) <= {BYTEA, None}:
            return (BYTEA,) * len(types), BYTEA
        if needs_text and not any(type is None or type.name in _TEXTS for type in types):
            return None
        return (TEXT,) * len(types), TEXT

    return resolve


_TEXTS = (TypeName.TEXT, TypeName.BPCHAR)


def part_bounds(engine: str, site: Site) -> tuple[str, str | None]:
    """Where a ``substring`` begins, from 1, and its length, if it has one. The position may lie
    before the first, as the standard has it; a negative length is an error."""
    start = site.arguments[1]
    first, count = site.constants.get(1), site.constants.get(2)
    if isinstance(first, int) and len(site.arguments) == 2:
        return str(max(first, 1)), None
    if isinstance(first, int) and isinstance(count, int) and count >= 0:
        return str(max(first, 1)), str(count if first >= 1 else max(first + count - 1, 0))
    begin = f"(CASE WHEN {start} < 1 THEN 1 ELSE {start} END)"
    if len(site.arguments) == 2:
        return begin, None
    length = site.arguments[2]
    error = raised(engine, "22011", "'negative substring length not allowed'")
    cut = f"(CASE WHEN {start} + {length} < 1 THEN 0 ELSE {start} + {length} - 1 END)"
    return begin, (
        f"(CASE WHEN {length} < 0 THEN {error} WHEN {start} < 1 THEN {cut} ELSE {length} END)"
    )


def _substring(engine: str) -> Writer:
    def write(site: Site) -> str:
        begin, length = part_bounds(engine, site)
        return f"substring({site.arguments[0]}, {begin}{'' if length is None else f', {length}'})"

    return write


def _trimmed(function: str, side: str, engine: str) -> Writer:
    def write(site: Site) -> str:
        characters = site.arguments[1] if len(site.arguments) == 2 else "' '"
        if engine == "duckdb":
            return f"{function}({site.arguments[0]}, {characters})"
        return f"trim({side} {characters} FROM {site.arguments[0]})"

    return write


def _within_length(engine: str) -> Writer:
    """The text, or an error if it is longer. Blanks at its end do not count; a ``char`` loses all
    of them."""

    def write(site: Site) -> str:
        most, is_char = int(str(site.constants[1])), bool(site.constants[2])
        limit = char(most) if is_char else TextLimit(most)
        stripped = "rtrim(v, ' ')" if engine == "duckdb" else "trim(TRAILING ' ' FROM v)"
        error = raised(engine, "22001", string(engine, f"value too long for type {limit}"))
        shortened = stripped if is_char else f"left(v, {most})"
        fitted = f"CASE WHEN length({stripped}) > {most} THEN {error} ELSE {shortened} END"

        def of_items(items: str) -> str:
            return each_element(engine, items, with_value(engine, "e", fitted))

        dimensions = site.types[0].dimensions
        if dimensions:
            return innermost(engine, site.arguments[0], dimensions, of_items)
        return with_value(engine, site.arguments[0], fitted)

    return write


def _texts_of_type(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """A text, or an array of texts, with the length and whether it is ``char(n)``."""
    of = types[0] if types and types[0] is not None and types[0].dimensions else TEXT
    return ((of, INTEGER, BOOLEAN), of) if types[1:] == (INTEGER, BOOLEAN) else None


def _text_array(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """An array of texts, of any dimensions, with the characters that each keeps."""
    if len(types) != 2 or types[0] is None or types[0].name is not TypeName.ARRAY:
        return None
    return exact(((array(TEXT, types[0].dimensions), INTEGER), types[0]))(types, constants)


def _left_of_each(engine: str) -> Writer:
    def write(site: Site) -> str:
        items, most = site.arguments
        return innermost(
            engine,
            items,
            site.result.dimensions,
            lambda row: each_element(engine, row, f"left(e, {most})"),
        )

    return write


def _cut_name(engine: str) -> Writer:
    """The characters that fit into the bytes of a ``name``."""
    bytes, parts = (
        ("strlen", "len(list_filter(range(1, {end}), lambda n: {fits}))")
        if engine == "duckdb"
        else ("octet_length", "size(filter(sequence(1, {end} - 1), n -> {fits}))")
    )
    most = NAME.characters
    count = parts.format(end=most + 1, fits=f"{bytes}(left(v, CAST(n AS INT))) <= {most}")

    def write(site: Site) -> str:
        cut = f"CASE WHEN {bytes}(v) <= {most} THEN v ELSE left(v, {count}) END"
        return with_value(engine, site.arguments[0], cut)

    return write


_MOST_BYTES = 1_073_741_819
"""The bytes of the longest text that ``repeat`` makes, as PostgreSQL has it."""
_MOST_PADDED = _MOST_BYTES // 4
"""The characters of the longest text that ``lpad`` makes, however few bytes they have."""


def _within_size(engine: str, number: str, is_too_large: str) -> str:
    """The number, or an error where ``is_too_large``. It is the argument that is checked: an engine
    may compute a function of constants even if no row takes its branch of a CASE."""
    too_large = raised(engine, "54000", "'requested length too large'")
    return f"(CASE WHEN {is_too_large} THEN {too_large} ELSE {number} END)"


def _repeated(engine: str) -> Writer:
    bytes = "strlen" if engine == "duckdb" else "octet_length"

    def write(site: Site) -> str:
        text, times = site.arguments
        is_too_large = f"{times} > 0 AND CAST({bytes}({text}) AS BIGINT) * {times} > {_MOST_BYTES}"
        return f"repeat({text}, {_within_size(engine, times, is_too_large)})"

    return write


def _padded(function: str, engine: str) -> Writer:
    def write(site: Site) -> str:
        text, length = site.arguments[:2]
        fill = site.arguments[2] if len(site.arguments) == 3 else "' '"
        short = f"substring({text}, 1, {length})"
        is_too_large = f"{length} > {_MOST_PADDED}"
        padded = f"{function}({text}, {_within_size(engine, length, is_too_large)}, {fill})"
        return (
            f"(CASE WHEN {length} <= 0 THEN substring({text}, 1, 0) WHEN {fill} = '' THEN "
            f"{short} ELSE {padded} END)"
        )

    return write


def _split_part(engine: str) -> Writer:
    def write(site: Site) -> str:
        text, delimiter, field = site.arguments
        error = raised(engine, "22023", "'field position must not be zero'")
        whole = (
            f"(CASE WHEN {field} = 1 OR {field} = -1 THEN {text} WHEN {text} IS NOT NULL "
            "THEN '' END)"
        )
        return (
            f"(CASE WHEN {field} = 0 THEN {error} WHEN {field} IS NULL THEN NULL "
            f"WHEN {delimiter} = '' THEN {whole} ELSE split_part({text}, {delimiter}, {field}) END)"
        )

    return write


def like_pattern(pattern: str, escape: str = "\\") -> str:
    """The pattern with backslash as its escape, standing only before ``%``, ``_`` and itself, where
    both engines agree."""
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            following = next(characters, None)
            if following is None:
                raise EvaluationError(
                    "LIKE pattern must not end with escape character", sqlstate="22025"
                )
            parts.append(f"\\{following}" if following in "%_\\" else following)
        else:
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


def _like(engine: str, *, is_case_blind: bool) -> Writer:
    def write(site: Site) -> str:
        text, pattern = site.arguments[:2]
        escape = site.constants.get(2, 0) if len(site.arguments) == 3 else "\\"
        if escape is None:
            return "CAST(NULL AS BOOLEAN)"
        if not isinstance(escape, str):
            raise UnsupportedSql("an ESCAPE that is not a constant is not supported")
        if len(escape) > 1:
            raise EvaluationError(
                "invalid escape string",
                hint="it is empty or of one character",
                sqlstate="22025",
            )
        if isinstance(site.constants.get(1), str):
            pattern = string(engine, like_pattern(str(site.constants[1]), escape))
            escape = "\\"
        elif engine == "spark":
            if escape != "\\":
                raise UnsupportedSql(
                    "an ESCAPE with a pattern that is not a constant is not computed by Spark"
                )
            lone = string(engine, r"(\\[\\%_])|\\(?=.)")
            pattern = f"regexp_replace({pattern}, {lone}, {string(engine, '$1')})"
        if is_case_blind:
            text, pattern = (in_case("lower", engine, side) for side in (text, pattern))
        return f"({text} LIKE {pattern} ESCAPE {string(engine, escape)})"

    return write


def _length(engine: str, site: Site) -> str:
    of_bytes = engine == "duckdb" and site.types[0] == BYTEA
    return f"CAST({'octet_length' if of_bytes else 'length'}({site.arguments[0]}) AS INTEGER)"


def _in_case(case: str, engine: str) -> Writer:
    return lambda site: in_case(case, engine, site.arguments[0])


for _name in ("lower", "upper"):
    scalar(
        _name,
        f"The text in {_name} case.",
        exact(((TEXT,), TEXT)),
        duckdb=_in_case(_name, "duckdb"),
        spark=_in_case(_name, "spark"),
    )
for _name in ("length", "char_length", "character_length"):
    scalar(
        _name,
        "The number of characters; of bytes, their number.",
        exact(((TEXT,), INTEGER), *((((BYTEA,), INTEGER),) if _name == "length" else ())),
        duckdb=lambda site: _length("duckdb", site),
        spark=lambda site: _length("spark", site),
    )
scalar(
    "octet_length",
    "The number of bytes.",
    exact(((TEXT,), INTEGER), ((BYTEA,), INTEGER)),
    duckdb=lambda site: (
        f"CAST({'strlen' if site.types[0] == TEXT else 'octet_length'}({site.arguments[0]}) "
        "AS INTEGER)"
    ),
    spark="octet_length({0})",
)
for _name, _side, _ends in (
    ("trim", "BOTH", "both ends"),
    ("btrim", "BOTH", "both ends"),
    ("ltrim", "LEADING", "the start"),
    ("rtrim", "TRAILING", "the end"),
):
    _duckdb = "trim" if _side == "BOTH" else _name
    scalar(
        _name,
        f"The text without spaces, or the given characters, at {_ends}.",
        exact(((TEXT,), TEXT), ((TEXT, TEXT), TEXT)),
        duckdb=_trimmed(_duckdb, _side, "duckdb"),
        spark=_trimmed(_duckdb, _side, "spark"),
    )
for _name in ("substring", "substr"):
    scalar(
        _name,
        "The part from an index, counted from 1, to the end or of a length.",
        exact(((TEXT, INTEGER), TEXT), ((TEXT, INTEGER, INTEGER), TEXT)),
        duckdb=_substring("duckdb"),
        spark=_substring("spark"),
    )
scalar(
    "replace",
    "The text with each occurrence of the second replaced by the third.",
    exact(((TEXT, TEXT, TEXT), TEXT)),
    "replace({0}, {1}, {2})",
)
for _name, _which in (("strpos", "the second text in the first"), ("position", "`x` in `y`")):
    scalar(
        _name,
        f"The index of {_which}, from 1; 0 if it is not there.",
        exact(((TEXT, TEXT), INTEGER)),
        duckdb="CAST(strpos({0}, {1}) AS INTEGER)",
        spark="locate({1}, {0})",
    )
scalar(
    "left",
    "The first characters; with a negative number, all but the last.",
    exact(((TEXT, INTEGER), TEXT)),
    duckdb="left({0}, {1})",
    spark=(
        "substring({0}, 1, CASE WHEN {1} >= 0 THEN {1} WHEN length({0}) + {1} < 0 THEN 0 "
        "ELSE length({0}) + {1} END)"
    ),
)
scalar(
    "right",
    "The last characters; with a negative number, all but the first.",
    exact(((TEXT, INTEGER), TEXT)),
    # of the smallest integer, whose negative is none, as PostgreSQL: nothing is cut off
    duckdb="(CASE WHEN {1} = -2147483648 THEN {0} ELSE right({0}, {1}) END)",
    spark=(
        "(CASE WHEN {1} = -2147483648 THEN {0} WHEN {1} >= 0 THEN right({0}, {1}) "
        "ELSE substring({0}, 1 - {1}) END)"
    ),
)
for _name, _end in (("lpad", "start"), ("rpad", "end")):
    scalar(
        _name,
        f"The text filled at the {_end}, or truncated, to a length.",
        exact(((TEXT, INTEGER), TEXT), ((TEXT, INTEGER, TEXT), TEXT)),
        duckdb=_padded(_name, "duckdb"),
        spark=_padded(_name, "spark"),
    )
scalar(
    "split_part",
    "The field between delimiters, counted from 1, or from the end if negative.",
    exact(((TEXT, TEXT, INTEGER), TEXT)),
    duckdb=_split_part("duckdb"),
    spark=_split_part("spark"),
)
scalar(
    "starts_with",
    "Whether the first text begins with the second.",
    exact(((TEXT, TEXT), BOOLEAN)),
    duckdb="starts_with({0}, {1})",
    spark="startswith({0}, {1})",
)
scalar(
    "repeat",
    "The text so many times.",
    exact(((TEXT, INTEGER), TEXT)),
    duckdb=_repeated("duckdb"),
    spark=_repeated("spark"),
)
scalar(
    "reverse",
    "The characters in reverse order.",
    exact(((TEXT,), TEXT)),
    duckdb="array_to_string(list_reverse(regexp_extract_all({0}, '(?s).')), '')",
    spark="reverse({0})",
)
scalar(
    "within_length",
    "The text, or an error if it is longer than its type allows.",
    _texts_of_type,
    duckdb=_within_length("duckdb"),
    spark=_within_length("spark"),
)
scalar(
    "left_of_each",
    "The first characters of each text of the array.",
    _text_array,
    duckdb=_left_of_each("duckdb"),
    spark=_left_of_each("spark"),
)
scalar(
    "name",
    "The first characters of the text, at most 63 bytes.",
    exact(((TEXT,), TEXT)),
    duckdb=_cut_name("duckdb"),
    spark=_cut_name("spark"),
)
scalar(
    "md5",
    "The MD5 hash, in hexadecimal.",
    exact(((TEXT,), TEXT), ((BYTEA,), TEXT)),
    "md5({0})",
)
# ``concat`` is the operator ``||``: NULL if any side is. ``concat_ws`` passes over NULLs after the
# separator.
scalar(
    "concat",
    "Both texts, or bytes, joined; NULL if either is NULL.",
    _texts(2, needs_text=True),
    duckdb=lambda site: f"({' || '.join(site.arguments)})",
    spark="concat({all})",
)
scalar(
    "concat_ws",
    (
        "The texts that are not NULL, joined by the first. `concat(…)` is the same without a "
        "separator."
    ),
    _texts(2, needs_text=False),
    "concat_ws({all})",
)
_LIKE = exact(((TEXT, TEXT), BOOLEAN), ((TEXT, TEXT, TEXT), BOOLEAN))
for _name, _blind, _description in (
    ("like", False, "Whether a pattern of `%` and `_` matches the whole text."),
    ("ilike", True, "As `LIKE`, ignoring case."),
):
    scalar(
        _name,
        _description,
        _LIKE,
        duckdb=_like("duckdb", is_case_blind=_blind),
        spark=_like("spark", is_case_blind=_blind),
    )

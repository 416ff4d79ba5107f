"""Bytes (``bytea``), and the hashes of texts. What no engine has is computed from their hexadecimal
digits."""

from __future__ import annotations

from reclock.algebra.relations import BIGINT, BYTEA, INTEGER, TEXT
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.registry import Site, Writer, scalar
from reclock.plan.functions.sql_names import raised, string
from reclock.plan.functions.text import part_bounds
from reclock.plan.functions.typing import exact

_BASE64_LINE = 76
"""How many characters PostgreSQL writes in a line of base64."""
ENGINES = ("duckdb", "spark")


def _encoded(engine: str) -> Writer:
    def write(site: Site) -> str:
        value, encoding = site.arguments
        match site.constants.get(1):
            case "hex":
                return f"lower(hex({value}))"
            case "base64" if engine == "duckdb":
                line = string(engine, f"(.{{{_BASE64_LINE}}})")
                written = f"regexp_replace(to_base64({value}), {line}, '\\1' || chr(10), 'g')"
                return f"rtrim({written}, chr(10))"
        return checked(engine, json_call("encoded", f"hex({value})", encoding))

    return write


def _from_digits(engine: str, function: str) -> Writer:
    """The bytes whose digits the Python function answers."""
    return lambda site: f"unhex({checked(engine, json_call(function, *site.arguments))})"


def _decoded_text(engine: str) -> Writer:
    return lambda site: checked(
        engine, json_call("text_of", f"hex({site.arguments[0]})", site.arguments[1])
    )


def _hashed(engine: str, bits: int) -> Writer:
    def write(site: Site) -> str:
        [value] = site.arguments
        if engine == "spark":
            return f"unhex(sha2({value}, {bits}))"
        if bits == 256:
            return f"unhex(sha256({value}))"
        hashed = json_call("digest", f"hex({value})", f"'sha{bits}'")
        return f"unhex({hashed})"

    return write


def _digested(engine: str, function: str) -> Writer:
    """The hash that the Python function answers, of the digits of all arguments but the last."""

    def write(site: Site) -> str:
        *values, algorithm = site.arguments
        digits = [f"hex({value})" for value in values]
        return f"unhex({checked(engine, json_call(function, *digits, algorithm))})"

    return write


def _part(engine: str) -> Writer:
    """As of text, with two digits a byte."""

    def write(site: Site) -> str:
        begin, length = part_bounds(engine, site)
        digits = "" if length is None else f", {length} * 2"
        return f"unhex(substring(hex({site.arguments[0]}), {begin} * 2 - 1{digits}))"

    return write


def _within(engine: str, site: Site, body: str) -> str:
    """``body``, of the digits ``v``, if the index is one of the bytes."""
    index = site.arguments[1]
    last = "CAST(length(v) // 2 - 1 AS VARCHAR)" if engine == "duckdb" else "length(v) DIV 2 - 1"
    index_text = f"CAST({index} AS {'VARCHAR' if engine == 'duckdb' else 'STRING'})"
    message = f"concat('index ', {index_text}, ' out of valid range, 0..', {last})"
    error = raised(engine, "2202E", message)
    outside = f"{index} < 0 OR {index} * 2 >= length(v)"
    return with_value(
        engine, f"hex({site.arguments[0]})", f"CASE WHEN {outside} THEN {error} ELSE {body} END"
    )


def _byte(engine: str) -> Writer:
    def write(site: Site) -> str:
        digits = f"substring(v, {site.arguments[1]} * 2 + 1, 2)"
        if engine == "duckdb":
            return _within(engine, site, f"CAST('0x' || {digits} AS INTEGER)")
        return _within(engine, site, f"CAST(conv({digits}, 16, 10) AS INT)")

    return write


def _with_byte(engine: str) -> Writer:
    def write(site: Site) -> str:
        _, index, byte = site.arguments
        value = f"(CAST({byte} AS BIGINT) & 255)"
        digits = f"lpad(hex({value}), 2, '0')"
        changed = f"(substring(v, 1, {index} * 2) || {digits} || substring(v, {index} * 2 + 3))"
        return f"unhex({_within(engine, site, changed)})"

    return write


def _trimmed(function: str) -> Writer:
    return lambda site: f"unhex({json_call(function, *_digits(site))})"


def _overlaid(engine: str) -> Writer:
    def write(site: Site) -> str:
        value, other = _digits(site)[:2]
        start, *length = site.arguments[2:]
        bytes = length[0] if length else f"CAST(length({other}) {_HALF[engine]} AS INT)"
        return f"unhex({checked(engine, json_call('bytes_overlaid', value, other, start, bytes))})"

    return write


_HALF = {"duckdb": "// 2", "spark": "DIV 2"}


def _with_bit(engine: str) -> Writer:
    def write(site: Site) -> str:
        value, index, bit = site.arguments
        place = f"CAST({index} AS {'VARCHAR' if engine == 'duckdb' else 'STRING'})"
        return f"unhex({checked(engine, json_call('bytes_with_bit', f'hex({value})', place, bit))})"

    return write


def _digits(site: Site) -> list[str]:
    """The digits of the arguments that are bytes."""
    pairs = zip(site.arguments, site.types, strict=True)
    return [f"hex({argument})" for argument, type in pairs if type == BYTEA]


def _for_engines(make: object, *arguments: object) -> dict[str, Writer]:
    assert callable(make)
    return {engine: make(engine, *arguments) for engine in ENGINES}


scalar(
    "encode",
    "The bytes as text, in `hex`, `base64` or `escape`.",
    exact(((BYTEA, TEXT), TEXT)),
    **_for_engines(_encoded),
)
scalar(
    "decode",
    "The bytes that a text spells in `hex`, `base64` or `escape`.",
    exact(((TEXT, TEXT), BYTEA)),
    **_for_engines(_from_digits, "decoded"),
)
scalar(
    "convert_from",
    "The text that the bytes are in an encoding, which is `UTF8`.",
    exact(((BYTEA, TEXT), TEXT)),
    **_for_engines(_decoded_text),
)
scalar(
    "convert_to",
    "The bytes of a text in an encoding, which is `UTF8`.",
    exact(((TEXT, TEXT), BYTEA)),
    **_for_engines(_from_digits, "bytes_of"),
)
for _bits in (224, 256, 384, 512):
    scalar(
        f"sha{_bits}",
        f"The SHA-{_bits} hash of the bytes.",
        exact(((BYTEA,), BYTEA)),
        **_for_engines(_hashed, _bits),
    )
scalar(
    "digest",
    "The hash of bytes, or of a text in UTF-8, by the algorithm of that name, such as `sha256`.",
    exact(((TEXT, TEXT), BYTEA), ((BYTEA, TEXT), BYTEA)),
    **_for_engines(_digested, "digest"),
)
scalar(
    "hmac",
    "The hash of bytes or a text with a key, by the algorithm of that name (RFC 2104).",
    exact(((TEXT, TEXT, TEXT), BYTEA), ((BYTEA, BYTEA, TEXT), BYTEA)),
    **_for_engines(_digested, "keyed_digest"),
)
scalar(
    "bytes substring",
    "The part of bytes from an index, counted from 1, to the end or of a length.",
    exact(((BYTEA, INTEGER), BYTEA), ((BYTEA, INTEGER, INTEGER), BYTEA)),
    **_for_engines(_part),
)
scalar(
    "get_byte",
    "The byte at an index, counted from 0.",
    exact(((BYTEA, INTEGER), INTEGER)),
    **_for_engines(_byte),
)
scalar(
    "set_byte",
    "The bytes with another value of the one at an index, counted from 0.",
    exact(((BYTEA, INTEGER, INTEGER), BYTEA)),
    **_for_engines(_with_byte),
)
scalar(
    "set_bit",
    "The bytes with another value of the bit at an index, counted from 0.",
    exact(((BYTEA, BIGINT, INTEGER), BYTEA)),
    **_for_engines(_with_bit),
)
scalar(
    "bit_count",
    "How many bits of the bytes are set.",
    exact(((BYTEA,), BIGINT)),
    f"CAST({json_call('bytes_bit_count', 'hex({0})')} AS BIGINT)",
)
for _name, _description in (("crc32", "CRC-32"), ("crc32c", "CRC-32C")):
    scalar(
        _name,
        f"The {_description} checksum of the bytes.",
        exact(((BYTEA,), BIGINT)),
        f"CAST({json_call(_name, 'hex({0})')} AS BIGINT)",
    )
for _name, _ends in (("btrim", "both ends"), ("ltrim", "the start"), ("rtrim", "the end")):
    scalar(
        f"bytes {_name}",
        f"The bytes without those of the second argument at {_ends}.",
        exact(((BYTEA, BYTEA), BYTEA)),
        _trimmed(f"bytes_{_name}"),
    )
for _name in ("strpos", "position"):
    scalar(
        f"bytes {_name}",
        "The index of the second bytes in the first, from 1; 0 if they are not there.",
        exact(((BYTEA, BYTEA), INTEGER)),
        json_call("bytes_position", "hex({0})", "hex({1})"),
    )
scalar(
    "bytes overlay",
    "The bytes with the part from an index on, of a length, replaced by the second argument.",
    exact(((BYTEA, BYTEA, INTEGER), BYTEA), ((BYTEA, BYTEA, INTEGER, INTEGER), BYTEA)),
    **_for_engines(_overlaid),
)
scalar(
    "bytes reverse",
    "The bytes from the last to the first.",
    exact(((BYTEA,), BYTEA)),
    f"unhex({json_call('bytes_reversed', 'hex({0})')})",
)
OF_BYTES = {
    name: f"bytes {name}"
    for name in (
        *("substring", "btrim", "ltrim", "rtrim", "strpos", "position", "overlay", "reverse"),
    )
} | {"substr": "bytes substring"}
"""Functions of texts that also take bytes: the function of bytes."""
scalar(
    "hashtext",
    "PostgreSQL's hash of a text.",
    exact(((TEXT,), INTEGER)),
    json_call("hash_of_text", "{0}"),
)
scalar(
    "hashtextextended",
    "PostgreSQL's 64-bit hash of a text, with a seed.",
    exact(((TEXT, BIGINT), BIGINT)),
    duckdb=f"CAST({json_call('extended_hash_of_text', '{0}', 'CAST({1} AS VARCHAR)')} AS BIGINT)",
    spark=f"CAST({json_call('extended_hash_of_text', '{0}', 'CAST({1} AS STRING)')} AS BIGINT)",
)

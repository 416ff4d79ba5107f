"""Functions of texts, bytes and numbers that the engines call. Bytes are in hexadecimal."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra import byte_strings
from reclock.algebra.byte_texts import (
    bytes_of,
    decoded,
    digest,
    encoded,
    extended_hash_of_text,
    hash_of_text,
    keyed_digest,
    of_literal,
    text_of,
)
from reclock.algebra.normal_forms import is_normalized, normalized
from reclock.algebra.special_functions import erf, erfc, factorial, gamma, lgamma
from reclock.compute.expressions.python_functions import (
    DOUBLE,
    INTEGER,
    TEXT,
    PythonFunction,
    or_failure,
)

TEXT_FUNCTIONS: Mapping[str, PythonFunction] = {
    "encoded": PythonFunction(or_failure(encoded), (TEXT, TEXT), TEXT),
    "decoded": PythonFunction(or_failure(decoded), (TEXT, TEXT), TEXT),
    "text_of": PythonFunction(or_failure(text_of), (TEXT, TEXT), TEXT),
    "bytes_of": PythonFunction(or_failure(bytes_of), (TEXT, TEXT), TEXT),
    "bytes_of_literal": PythonFunction(or_failure(of_literal), (TEXT,), TEXT),
    "digest": PythonFunction(or_failure(digest), (TEXT, TEXT), TEXT),
    "keyed_digest": PythonFunction(or_failure(keyed_digest), (TEXT, TEXT, TEXT), TEXT),
    "hash_of_text": PythonFunction(hash_of_text, (TEXT,), INTEGER),
    "extended_hash_of_text": PythonFunction(extended_hash_of_text, (TEXT, TEXT), TEXT),
    "bytes_position": PythonFunction(byte_strings.position, (TEXT, TEXT), INTEGER),
    "bytes_btrim": PythonFunction(byte_strings.trimmed, (TEXT, TEXT), TEXT),
    "bytes_ltrim": PythonFunction(byte_strings.left_trimmed, (TEXT, TEXT), TEXT),
    "bytes_rtrim": PythonFunction(byte_strings.right_trimmed, (TEXT, TEXT), TEXT),
    "bytes_overlaid": PythonFunction(
        or_failure(byte_strings.overlaid), (TEXT, TEXT, INTEGER, INTEGER), TEXT
    ),
    "bytes_with_bit": PythonFunction(
        or_failure(byte_strings.with_bit), (TEXT, TEXT, INTEGER), TEXT
    ),
    "bytes_bit_count": PythonFunction(byte_strings.bit_count, (TEXT,), INTEGER),
    "bytes_reversed": PythonFunction(byte_strings.reversed_bytes, (TEXT,), TEXT),
    "crc32": PythonFunction(byte_strings.crc32, (TEXT,), TEXT),
    "crc32c": PythonFunction(byte_strings.crc32c, (TEXT,), TEXT),
    **{
        name: PythonFunction(or_failure(function), (DOUBLE,), TEXT)
        for name, function in (("gamma", gamma), ("lgamma", lgamma), ("erf", erf), ("erfc", erfc))
    },
    "factorial": PythonFunction(or_failure(factorial), (TEXT,), TEXT),
    "normalized": PythonFunction(or_failure(normalized), (TEXT, TEXT), TEXT),
    "is_normalized": PythonFunction(or_failure(is_normalized), (TEXT, TEXT), TEXT),
}

"""JSON documents (``jsonb``). A value is the text of a document in normal form, so that equal
documents are equal texts.

Functions that look into a document are Python functions that both engines call (`json_calls`).
"""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import (
    BOOLEAN,
    INTEGER,
    JSONB,
    TEXT,
    ScalarType,
    array,
)
from reclock.plan.functions.documents import list_of_texts
from reclock.plan.functions.json_calls import checked, json_call, kind_of, kind_of_text
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.functions.typing import exact

Signature = tuple[tuple[ScalarType, ...], ScalarType]

_TEXTS = array(TEXT)


ROWS_OF = "rows of "
"""The prefix under which the registry has the arrays whose elements are the rows of a function."""
_PYTHON = frozenset(
    {
        *("->", "->>", "#>", "#>>", "to_jsonb", "merged objects", "kind of text"),
        *("to_timestamp", "to_char", "to_number"),
        *("encode", "decode", "convert_from", "convert_to", "sha224", "sha384", "sha512"),
        *("digest", "hmac"),
        *("hashtext", "hashtextextended", "bit_count", "crc32", "crc32c", "set_bit"),
        *("normalize", "is_normalized", "gamma", "lgamma", "erf", "erfc", "factorial"),
    }
)


def calls_python(function: str) -> bool:
    """Whether the engines call Python for this scalar function."""
    return function in _PYTHON or function.startswith(("jsonb_", "bytes ", ROWS_OF))


def _on_document(*rest: ScalarType, result: ScalarType) -> Resolver:
    return exact(((JSONB, *rest), result))


def _typed(*signatures: tuple[tuple[ScalarType, ...], ScalarType]) -> Resolver:
    """As `exact`, but there is no such operator for constants alone, because their types are
    open."""
    resolve_exactly = exact(*signatures)

    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        return (
            resolve_exactly(types, constants) if any(type is not None for type in types) else None
        )

    return resolve


def _called(name: str, *by_second: tuple[ScalarType, str]) -> Writer:
    """A call of the function, which the type of the second argument may choose."""
    names = dict(by_second)

    def write(site: Site) -> str:
        return json_call(
            names.get(site.types[1], name) if len(site.types) > 1 else name, *site.arguments
        )

    return write


# --- operators ---

for _suffix, _result in (("", JSONB), ("_text", TEXT)):
    _as = "as text" if _suffix else "as a document"
    scalar(
        "->>" if _suffix else "->",
        (
            "The field of an object by its key, or the element of an array by its index "
            f"from 0 (negative: from the end), {_as}."
        ),
        _typed(((JSONB, TEXT), _result), ((JSONB, INTEGER), _result)),
        _called(f"field{_suffix}", (INTEGER, f"element{_suffix}")),
    )
    scalar(
        "#>>" if _suffix else "#>",
        f"The part of a document at a path, {_as}.",
        _typed(((JSONB, _TEXTS), _result)),
        _called(f"path{_suffix}"),
    )

scalar(
    "jsonb_contains",
    "Whether the first document contains the second.",
    _typed(((JSONB, JSONB), BOOLEAN)),
    _called("contains"),
)
scalar(
    "jsonb_contained",
    "Whether the second document contains the first.",
    _typed(((JSONB, JSONB), BOOLEAN)),
    lambda site: json_call("contains", *reversed(site.arguments)),
)
for _name, _type, _of in (
    ("exists", TEXT, "the text is"),
    ("exists_any", _TEXTS, "any of the texts is"),
    ("exists_all", _TEXTS, "all of the texts are"),
):
    scalar(
        f"jsonb_{_name}",
        f"Whether {_of} a key of the object or a string in the array.",
        _typed(((JSONB, _type), BOOLEAN)),
        _called(_name),
    )
scalar(
    "jsonb_concat",
    "The members of both objects, or the elements of both arrays.",
    _typed(((JSONB, JSONB), JSONB)),
    _called("concat"),
)


def _checked(engine: str, write: Writer) -> Writer:
    return lambda site: checked(engine, write(site))


def _changed(name: str, default: str) -> Writer:
    """The call with the ``default`` of its last argument."""
    return lambda site: json_call(name, *(*site.arguments, default)[:4])


_delete = _called("delete_key", (INTEGER, "delete_element"), (_TEXTS, "delete_keys"))
scalar(
    "jsonb_delete",
    "The document without a key, several keys, or the element at an index.",
    _typed(((JSONB, TEXT), JSONB), ((JSONB, INTEGER), JSONB), ((JSONB, _TEXTS), JSONB)),
    duckdb=_checked("duckdb", _delete),
    spark=_checked("spark", _delete),
)
scalar(
    "jsonb_delete_path",
    "The document without the part at a path.",
    _typed(((JSONB, _TEXTS), JSONB)),
    duckdb=_checked("duckdb", _called("delete_path")),
    spark=_checked("spark", _called("delete_path")),
)

for _name, _change, _default in (
    (
        "jsonb_set",
        "with the part at a path replaced, or added unless the last argument is false",
        "TRUE",
    ),
    (
        "jsonb_insert",
        "with another part before a path, or after it if the last argument is true",
        "FALSE",
    ),
):
    _call = _changed(_name.removeprefix("jsonb_"), _default)
    scalar(
        _name,
        f"The document {_change}.",
        exact(((JSONB, _TEXTS, JSONB), JSONB), ((JSONB, _TEXTS, JSONB, BOOLEAN), JSONB)),
        duckdb=_checked("duckdb", _call),
        spark=_checked("spark", _call),
    )

# --- functions ---

scalar(
    "jsonb_typeof",
    "The kind of a document: object, array, string, number, boolean or null.",
    _on_document(result=TEXT),
    duckdb=lambda site: kind_of("duckdb", site.arguments[0]),
    spark=lambda site: kind_of("spark", site.arguments[0]),
)

KIND_OF_TEXT = "kind of text"
"""What ``IS JSON`` asks."""
scalar(
    KIND_OF_TEXT,
    "The kind of document that a text spells: object, array, string, number, boolean or null; an "
    "empty text if it is no JSON.",
    exact(((TEXT,), TEXT)),
    duckdb=lambda site: kind_of_text("duckdb", site.arguments[0]),
    spark=lambda site: kind_of_text("spark", site.arguments[0]),
)


def _length(engine: str) -> Writer:
    def write(site: Site) -> str:
        length = checked(engine, json_call("array_length", *site.arguments))
        return f"CAST({length} AS {type_sql(engine, INTEGER)})"

    return write


scalar(
    "jsonb_array_length",
    "The number of elements of an array.",
    _on_document(result=INTEGER),
    duckdb=_length("duckdb"),
    spark=_length("spark"),
)
scalar(
    "jsonb_strip_nulls",
    "The document without the fields of its objects, at any depth, that are null.",
    _on_document(result=JSONB),
    _called("strip_nulls"),
)
scalar(
    "jsonb_pretty", "The document as indented text.", _on_document(result=TEXT), _called("pretty")
)


def _extracted(result: ScalarType) -> Resolver:
    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        if len(types) < 2:
            return None
        return exact(((JSONB, *(TEXT,) * (len(types) - 1)), result))(types, constants)

    return resolve


def _extract(engine: str, name: str) -> Writer:
    return lambda site: json_call(
        name, site.arguments[0], list_of_texts(engine, site.arguments[1:])
    )


for _suffix, _result in (("", JSONB), ("_text", TEXT)):
    scalar(
        f"jsonb_extract_path{_suffix}",
        (
            "The part of a document at a path of keys and indexes, "
            f"{'as text' if _suffix else 'as a document'}."
        ),
        _extracted(_result),
        duckdb=_extract("duckdb", f"path{_suffix}"),
        spark=_extract("spark", f"path{_suffix}"),
    )


# --- functions that return rows ---


def _rows(engine: str, function: str, parts: str) -> Writer:
    def write(site: Site) -> str:
        failure = json_call("rows_failure", *site.arguments, f"'{function}'")
        error = (
            f"{'raise_error' if engine == 'spark' else 'error'}(concat('reclock:', "
            f"substring({failure}, 2)))"
        )
        parts_sql = json_call(parts, *site.arguments)
        return f"(CASE WHEN {failure} IS NOT NULL THEN {error} ELSE {parts_sql} END)"

    return write


for _function, _parts, _element, _about in (
    ("jsonb_array_elements", "items", JSONB, "A row for each element of an array."),
    (
        "jsonb_array_elements_text",
        "item_texts",
        TEXT,
        "A row for each element of an array, as text.",
    ),
    ("jsonb_object_keys", "keys", TEXT, "A row for each key of an object."),
    (
        "jsonb_each",
        "items",
        JSONB,
        "A row for each member of an object: `key`, and `value` as a document.",
    ),
    (
        "jsonb_each_text",
        "item_texts",
        TEXT,
        "A row for each member of an object: `key`, and `value` as text.",
    ),
):
    scalar(
        f"{ROWS_OF}{_function}",
        _about,
        _on_document(result=array(_element)),
        duckdb=_rows("duckdb", _function, _parts),
        spark=_rows("spark", _function, _parts),
    )
scalar(
    f"{ROWS_OF}keys",
    "The keys of an object, of nothing else.",
    _on_document(result=_TEXTS),
    _called("keys"),
)


_merged = _called("merged_objects")
scalar(
    "merged objects",
    "An object with the members of all objects of an array.",
    exact(((array(JSONB),), JSONB)),
    duckdb=_checked("duckdb", _merged),
    spark=_checked("spark", _merged),
)


def _object_of_texts(site: Site) -> str:
    name = "object_of_texts" if len(site.arguments) == 1 else "object_of_keys"
    return json_call(name, *site.arguments)


scalar(
    "jsonb_object",
    "An object of alternating keys and values, or of keys and as many values; values are strings.",
    exact(((_TEXTS,), JSONB), ((_TEXTS, _TEXTS), JSONB)),
    duckdb=_checked("duckdb", _object_of_texts),
    spark=_checked("spark", _object_of_texts),
)

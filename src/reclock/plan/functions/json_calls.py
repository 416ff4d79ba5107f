"""Calls of the functions of JSON documents, and of other texts in normal form, that
`compute.expressions.json_functions` gives to both engines.

A document (``jsonb``) is its text in normal form. Its kind shows in the first character.
"""

from __future__ import annotations

from reclock.algebra.relations import JSONB, ScalarType
from reclock.plan.functions.floats import with_value

PREFIX = "reclock_json_"
"""The prefix of the functions' names in the engines."""
FAILURE = "!"
"""The prefix of a result that is an SQLSTATE and a message; no value has it."""

_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
_FIRST = "substring(v, 1, 1)"
_CASES = (
    "".join(f" WHEN '{first}' THEN '{name}'" for first, name in _KINDS.items()) + " ELSE 'number'"
)
"""The kind of a document, by its first character."""


def json_call(name: str, *arguments: str) -> str:
    """A call of a function of `compute.expressions.json_functions`."""
    return f"{PREFIX}{name}({', '.join(arguments)})"


def checked(engine: str, result: str) -> str:
    """``result``, a document or a failure, which is raised."""
    function = "raise_error" if engine == "spark" else "error"
    error = f"{function}(concat('reclock:', substring(v, {len(FAILURE) + 1})))"
    return with_value(engine, result, f"CASE WHEN {_FIRST} = '{FAILURE}' THEN {error} ELSE v END")


def kind_of(engine: str, document: str) -> str:
    """The result of ``jsonb_typeof``."""
    return with_value(
        engine, document, f"CASE WHEN v IS NOT NULL THEN CASE {_FIRST}{_CASES} END END"
    )


def kind_of_text(engine: str, text: str) -> str:
    """The result of ``jsonb_typeof`` for the document that ``text`` spells; an empty text if it
    spells none."""
    return with_value(
        engine,
        json_call(reader_name(JSONB), text),
        f"CASE WHEN v IS NOT NULL THEN CASE {_FIRST} WHEN '{FAILURE}' THEN ''{_CASES} END END",
    )


def from_text(engine: str, text: str, target: ScalarType) -> str:
    """``text`` as a value of ``target``, a type of texts in normal form; an error if it spells
    none."""
    return checked(engine, json_call(reader_name(target), text))


def reader_name(target: ScalarType) -> str:
    """The function that reads texts as values of ``target``."""
    return f"read_{target.name.name.lower()}"


def scalar_text(engine: str, document: str, target: ScalarType) -> str:
    """The text of a number or boolean, to be read as ``target``; an error if it is none that
    fits."""
    return checked(engine, json_call("scalar", document, f"'{target.name.value}'"))

"""The normal forms of Unicode."""

from __future__ import annotations

import unicodedata
from typing import Literal, TypeGuard

from reclock.errors import EvaluationError

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")


def normalized(text: str, form: str) -> str:
    """Raises ``EvaluationError`` unless ``form`` is one of ``FORMS``, in letters of any case."""
    return unicodedata.normalize(_form(form), text)


def is_normalized(text: str, form: str) -> str:
    """``true`` or ``false``. Raises as ``normalized``."""
    return str(unicodedata.is_normalized(_form(form), text)).lower()


def _form(name: str) -> Form:
    if not _is_form(form := name.upper()):
        raise EvaluationError(f"invalid normalization form: {name}", sqlstate="22023")
    return form


def _is_form(name: str) -> TypeGuard[Form]:
    return name in FORMS

"""``jsonb``."""

from __future__ import annotations

from reclock.algebra.json_documents import normal_form
from reclock.algebra.relations import JSONB
from reclock.algebra.textual.description import TextualType

_VERSION = b"\1"


def _from_binary(raw: bytes) -> str:
    """The text, with the version before it if the client sent ``jsonb``, without it for
    ``json``."""
    return normal_form(raw.removeprefix(_VERSION).decode())


DOCUMENTS = TextualType(
    JSONB,
    oid=3802,
    array_oid=3807,
    size=-1,
    category="U",
    functions=(3806, 3804, 3805, 3803),
    normal_form=normal_form,
    to_binary=lambda text: _VERSION + text.encode(),
    from_binary=_from_binary,
)

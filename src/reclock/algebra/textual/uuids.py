"""``uuid``: lower-case digits, in the groups of RFC 9562."""

from __future__ import annotations

import re
from uuid import UUID as PythonUuid

from reclock.algebra.relations import UUID
from reclock.algebra.textual.description import TextualType
from reclock.errors import InvalidText

_FORMS = re.compile(
    r"((?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4})|\{((?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4})\}", re.ASCII
)
"""PostgreSQL takes a hyphen, or none, after any group of four digits, and braces around all."""


def normal_form(text: str) -> str:
    """Raises ``InvalidText``."""
    matched = _FORMS.fullmatch(text)
    if matched is None:
        raise InvalidText(UUID.name, text)
    return str(PythonUuid(hex=(matched[1] or matched[2]).replace("-", "")))


UUIDS = TextualType(
    UUID,
    oid=2950,
    array_oid=2951,
    size=16,
    category="U",
    functions=(2952, 2953, 2961, 2962),
    normal_form=normal_form,
    to_binary=lambda text: PythonUuid(text).bytes,
    from_binary=lambda raw: str(PythonUuid(bytes=raw)),
)

"""Types whose values are texts in a normal form, one a file, and the table of them.

To add one: its name in `algebra/relations.py`, a file here, and a line below. Storage, engines,
casts of text, both wire formats, COPY, sources and the catalogs of PostgreSQL read the table.
"""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import ScalarType, TypeName
from reclock.algebra.textual.characters import CHARACTERS
from reclock.algebra.textual.description import TextualType
from reclock.algebra.textual.documents import DOCUMENTS
from reclock.algebra.textual.networks import CIDRS, INETS, MACADDRS
from reclock.algebra.textual.ranges import RANGES
from reclock.algebra.textual.times import TIMES
from reclock.algebra.textual.uuids import UUIDS

TEXTUAL_TYPES: Mapping[TypeName, TextualType] = {
    description.type.name: description
    for description in (
        CHARACTERS,
        UUIDS,
        TIMES,
        DOCUMENTS,
        INETS,
        CIDRS,
        MACADDRS,
        *RANGES,
    )
}


def textual(type: ScalarType) -> TextualType | None:
    """The description of ``type``, if its values are texts in a normal form."""
    return TEXTUAL_TYPES.get(type.name)

"""The catalog frontier of a plane: up to where in the catalog's history it was commanded."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.timestamps import Timestamp


@dataclass(frozen=True, slots=True)
class AdvanceCatalogFrontier:
    """Everything that the catalog implies below ``to``, a time of its timeline, was commanded and
    carried out."""

    to: Timestamp

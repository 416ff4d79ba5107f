"""The same places as the behaviours have."""

from fixtures.catalogs import place

__all__ = ["place"]

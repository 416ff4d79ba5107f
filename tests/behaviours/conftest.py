"""Every behaviour is checked on every implementation."""

from fixtures.catalogs import place

__all__ = ["place"]

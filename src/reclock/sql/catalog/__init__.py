"""The catalog as planning sees it, as a value."""

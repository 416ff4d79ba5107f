"""Views of ``pg_catalog``."""

"""Views of ``information_schema``."""

"""Views of ``mz_internal``."""

"""COMMENT ON."""

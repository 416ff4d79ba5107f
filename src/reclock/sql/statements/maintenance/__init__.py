"""VACUUM and ANALYZE."""

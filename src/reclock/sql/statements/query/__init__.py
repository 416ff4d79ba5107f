"""Queries as statements, and EXPLAIN."""

"""Queries: SELECT and EXPLAIN."""

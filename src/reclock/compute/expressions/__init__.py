"""Scalar expressions as SQL of an engine, and the functions that engines call for them."""

"""Sequences: CREATE, ALTER, and what calls of their functions name."""

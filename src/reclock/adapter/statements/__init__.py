"""Statements that are no query: what they require of the role, and how they are carried out."""

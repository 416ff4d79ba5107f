"""Statements for objects of any kind: DROP, RENAME, OWNER."""

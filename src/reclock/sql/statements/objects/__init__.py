"""What concerns objects of any kind: DROP, RENAME, OWNER."""

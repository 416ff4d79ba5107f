"""A client's session: prepared statements, cursors, cached plans, and the dispatch of
statements."""

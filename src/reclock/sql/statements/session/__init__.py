"""The state of a session: variables, prepared statements, cursors."""

"""What a session keeps: variables, prepared statements, cursors."""

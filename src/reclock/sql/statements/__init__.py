"""The statements, a folder for each family: its syntax, and what it plans to."""

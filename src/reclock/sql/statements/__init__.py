"""The statements, one folder for each family: syntax and plan."""

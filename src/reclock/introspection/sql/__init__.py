"""The SQL of system relations that are views, a folder a schema."""

"""User-defined functions: CREATE and ALTER FUNCTION."""

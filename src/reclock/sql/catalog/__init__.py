"""The catalog as a value, as planning reads it."""

"""Load generators: sources without an upstream."""

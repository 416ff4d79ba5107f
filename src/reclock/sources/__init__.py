"""Connectors, one a file: how far an upstream reaches, what of it can be read again, and how. They do not know each other."""

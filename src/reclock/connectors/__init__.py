"""Connectors, one file or folder a source type: how far an upstream reaches, which of it can be
read again, and how.

Connectors do not know each other.
"""

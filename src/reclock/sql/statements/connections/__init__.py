"""Connections and secrets."""

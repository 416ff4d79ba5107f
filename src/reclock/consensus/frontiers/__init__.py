"""Frontiers of collections, claims of writers, and holds of readers."""

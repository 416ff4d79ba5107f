"""Views and indexes."""

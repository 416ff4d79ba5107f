"""Secrets and passwords."""

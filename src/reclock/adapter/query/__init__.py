"""Queries and subscriptions: SQL that reads."""

"""Reclock puts a lakehouse on one clock."""

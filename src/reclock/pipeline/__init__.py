"""Ticks, backfills, maintenance, backup and restore, as functions."""

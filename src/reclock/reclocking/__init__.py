"""Reclocking: which upstream offsets belong to which time. Pure; knows no connector."""

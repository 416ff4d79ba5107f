"""Transactions: blocks, writes to tables, definitions, temporary objects."""

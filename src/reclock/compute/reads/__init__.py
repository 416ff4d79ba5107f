"""Reads: where a query is answered, from memory, by an engine of this process or by Spark."""

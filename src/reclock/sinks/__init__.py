"""Sinks: they write the changes of relations to other systems, each change exactly once."""

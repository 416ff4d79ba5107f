"""Descriptions of sources, sinks and connections, as values: their options, formats and targets.
Nothing here connects to anything."""

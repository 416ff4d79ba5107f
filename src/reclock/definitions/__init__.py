"""What sources, sinks and connections are, as values: their options, formats and targets. They reach nothing."""

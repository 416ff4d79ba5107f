"""From a parsed statement to a planned one: the registry of planners, and what all definitions
share."""

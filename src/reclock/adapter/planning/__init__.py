"""From a parsed statement to a planned and authorized one, and the cache of plans."""

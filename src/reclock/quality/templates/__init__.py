"""Pages of the data docs."""

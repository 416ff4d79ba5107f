"""The timestamp oracle: linearizable read and write timestamps for every process of an
environment."""

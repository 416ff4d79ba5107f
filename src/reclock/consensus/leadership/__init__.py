"""Which process may write: the environment's identity, the epoch of its catalog, and elections of
controllers."""

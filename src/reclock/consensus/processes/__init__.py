"""Which processes serve as replicas, and which report introspection."""

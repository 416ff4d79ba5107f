"""What is known of each object of the catalog: its incarnation, status, statistics, requested
restarts, pending cleanup."""

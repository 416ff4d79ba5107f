"""What moves the lake forward, as functions: ticks, backfills, maintenance, backup and restore."""

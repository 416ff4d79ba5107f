"""What processes say of themselves: replicas, reporters, statuses, statistics."""

"""PostgreSQL publications: snapshots and logical replication."""

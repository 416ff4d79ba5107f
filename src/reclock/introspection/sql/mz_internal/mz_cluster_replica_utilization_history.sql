SELECT
  replica_id,  -- replica_id bigint
  process,  -- process text
  cpu_percent,  -- cpu_percent double precision
  memory_percent,  -- memory_percent double precision
  occurred_at  -- occurred_at timestamp with time zone
FROM mz_internal.mz_cluster_replica_metrics_history

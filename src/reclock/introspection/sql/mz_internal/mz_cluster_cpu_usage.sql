SELECT
  s.cluster_id,  -- cluster_id bigint
  m.replica_id,  -- replica_id bigint
  m.cpu_percent  -- cpu_percent double precision
FROM mz_internal.mz_cluster_replica_metrics AS m
JOIN mz_internal.mz_cluster_replica_statuses AS s ON s.replica_id = m.replica_id

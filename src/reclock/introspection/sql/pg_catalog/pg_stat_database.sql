SELECT
  d.oid,  -- datid! oid
  d.datname,  -- datname text
  CAST(coalesce(a.number, 0) AS INT),  -- numbackends integer
  0,  -- xact_commit bigint
  0,  -- xact_rollback bigint
  0,  -- blks_read bigint
  0,  -- blks_hit bigint
  0,  -- tup_returned bigint
  0,  -- tup_fetched bigint
  0,  -- tup_inserted bigint
  0,  -- tup_updated bigint
  0,  -- tup_deleted bigint
  0,  -- conflicts bigint
  0,  -- temp_files bigint
  0,  -- temp_bytes bigint
  0,  -- deadlocks bigint
  0,  -- sessions bigint
  0.0,  -- blk_read_time double precision
  0.0,  -- blk_write_time double precision
  NULL  -- stats_reset timestamp with time zone
FROM pg_catalog.pg_database AS d
LEFT JOIN (
  SELECT
    datid,
    count(*) AS number
  FROM pg_catalog.pg_stat_activity
  GROUP BY datid
) AS a ON a.datid = d.oid

SELECT
  c.oid,  -- relid! oid
  n.nspname,  -- schemaname text
  c.relname,  -- relname text
  0,  -- seq_scan bigint
  0,  -- seq_tup_read bigint
  0,  -- idx_scan bigint
  0,  -- idx_tup_fetch bigint
  0,  -- n_tup_ins bigint
  0,  -- n_tup_upd bigint
  0,  -- n_tup_del bigint
  0,  -- n_tup_hot_upd bigint
  0,  -- n_live_tup bigint
  0,  -- n_dead_tup bigint
  0,  -- n_mod_since_analyze bigint
  0,  -- n_ins_since_vacuum bigint
  NULL,  -- last_vacuum timestamp with time zone
  NULL,  -- last_autovacuum timestamp with time zone
  NULL,  -- last_analyze timestamp with time zone
  NULL,  -- last_autoanalyze timestamp with time zone
  0,  -- vacuum_count bigint
  0,  -- autovacuum_count bigint
  0,  -- analyze_count bigint
  0  -- autoanalyze_count bigint
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE
  c.relkind IN ('r', 'm')
  AND NOT n.nspname IN ('pg_catalog', 'information_schema', 'mz_catalog', 'mz_internal')

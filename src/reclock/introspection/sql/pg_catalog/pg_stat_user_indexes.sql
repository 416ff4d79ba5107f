SELECT
  x.indrelid,  -- relid oid
  x.indexrelid,  -- indexrelid! oid
  n.nspname,  -- schemaname text
  t.relname,  -- relname text
  i.relname,  -- indexrelname text
  0,  -- idx_scan bigint
  NULL,  -- last_idx_scan timestamp with time zone
  0,  -- idx_tup_read bigint
  0  -- idx_tup_fetch bigint
FROM pg_catalog.pg_index AS x
JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_class AS t ON t.oid = x.indrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
WHERE NOT n.nspname IN ('pg_catalog', 'information_schema', 'mz_catalog', 'mz_internal')

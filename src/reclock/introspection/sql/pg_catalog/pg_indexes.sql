SELECT
  n.nspname,  -- schemaname text
  t.relname,  -- tablename text
  i.relname,  -- indexname text
  NULL,  -- tablespace text
  pg_get_indexdef(x.indexrelid)  -- indexdef text
FROM pg_catalog.pg_index AS x
JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_class AS t ON t.oid = x.indrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace

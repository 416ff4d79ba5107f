SELECT
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  c.relname,  -- table_name text
  CASE
    WHEN c.relkind = 'v' THEN 'VIEW'
    WHEN c.relpersistence = 't' THEN 'LOCAL TEMPORARY'
    ELSE 'BASE TABLE'
  END,  -- table_type text
  CASE WHEN c.relkind = 'r' THEN 'YES' ELSE 'NO' END,  -- is_insertable_into text
  'NO'  -- is_typed text
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v')

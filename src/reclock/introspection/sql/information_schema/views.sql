SELECT
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  c.relname,  -- table_name text
  pg_get_viewdef(c.oid),  -- view_definition text
  'NONE',  -- check_option text
  'NO',  -- is_updatable text
  'NO'  -- is_insertable_into text
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'

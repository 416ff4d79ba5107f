SELECT
  current_database(),  -- constraint_catalog text
  cn.nspname,  -- constraint_schema text
  c.conname,  -- constraint_name text
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  t.relname,  -- table_name text
  a.attname,  -- column_name text
  k.place,  -- ordinal_position integer
  k.place_in_target_key  -- position_in_unique_constraint integer
FROM pg_catalog.pg_constraint AS c
JOIN pg_catalog.pg_namespace AS cn ON cn.oid = c.connamespace
JOIN pg_catalog.pg_class AS t ON t.oid = c.conrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
JOIN mz_internal.mz_constraint_columns AS k ON k.oid = c.oid
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.position
WHERE c.contype <> 'c'

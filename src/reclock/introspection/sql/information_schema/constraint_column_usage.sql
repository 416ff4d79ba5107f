SELECT
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  t.relname,  -- table_name text
  a.attname,  -- column_name text
  current_database(),  -- constraint_catalog text
  cn.nspname,  -- constraint_schema text
  c.conname  -- constraint_name text
FROM pg_catalog.pg_constraint AS c
JOIN pg_catalog.pg_namespace AS cn ON cn.oid = c.connamespace
JOIN pg_catalog.pg_class AS t
  ON t.oid = CASE c.contype WHEN 'f' THEN c.confrelid ELSE c.conrelid END
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
JOIN mz_internal.mz_constraint_columns AS k ON k.oid = c.oid
JOIN pg_catalog.pg_attribute AS a
  ON a.attrelid = t.oid AND a.attnum = coalesce(k.target_position, k.position)
UNION ALL
SELECT
  current_database(),
  n.nspname,
  t.relname,
  a.attname,
  current_database(),
  n.nspname,
  t.relname || '_' || a.attname || '_not_null'
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_class AS t ON t.oid = a.attrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
WHERE a.attnotnull AND t.relkind = 'r'

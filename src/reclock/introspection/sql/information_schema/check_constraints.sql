SELECT
  current_database(),  -- constraint_catalog text
  cn.nspname,  -- constraint_schema text
  c.conname,  -- constraint_name text
  c.conbin  -- check_clause text
FROM pg_catalog.pg_constraint AS c
JOIN pg_catalog.pg_namespace AS cn ON cn.oid = c.connamespace
WHERE c.contype = 'c'
UNION ALL
SELECT
  current_database(),
  n.nspname,
  t.relname || '_' || a.attname || '_not_null',
  quote_ident(a.attname) || ' IS NOT NULL'
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_class AS t ON t.oid = a.attrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
WHERE a.attnotnull AND t.relkind = 'r'

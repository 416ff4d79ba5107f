SELECT
  current_database(),  -- domain_catalog text
  n.nspname,  -- domain_schema text
  t.typname,  -- domain_name text
  current_database(),  -- table_catalog text
  r.nspname,  -- table_schema text
  c.relname,  -- table_name text
  a.attname  -- column_name text
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace AS r ON r.oid = c.relnamespace
JOIN mz_internal.mz_domains AS d ON d.oid = a.atttypid
JOIN pg_catalog.pg_type AS t ON t.oid = d.oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
WHERE c.relkind IN ('r', 'v')

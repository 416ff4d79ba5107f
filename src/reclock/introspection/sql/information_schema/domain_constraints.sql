SELECT
  current_database(),  -- constraint_catalog text
  n.nspname,  -- constraint_schema text
  c.name,  -- constraint_name text
  current_database(),  -- domain_catalog text
  n.nspname,  -- domain_schema text
  t.typname,  -- domain_name text
  'NO',  -- is_deferrable text
  'NO'  -- initially_deferred text
FROM mz_internal.mz_domain_constraints AS c
JOIN pg_catalog.pg_type AS t ON t.oid = c.domain_oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace

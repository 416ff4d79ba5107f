SELECT
  g.grantor,  -- grantor text
  g.grantee,  -- grantee text
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  c.relname,  -- table_name text
  g.privilege,  -- privilege_type text
  CASE WHEN g.is_owner THEN 'YES' ELSE 'NO' END,  -- is_grantable text
  CASE WHEN g.privilege = 'SELECT' THEN 'YES' ELSE 'NO' END  -- with_hierarchy text
FROM mz_internal.mz_relation_grants AS g
JOIN pg_catalog.pg_class AS c ON c.oid = g.oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v')

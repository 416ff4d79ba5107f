SELECT
  n.nspname,  -- schemaname text
  c.relname,  -- viewname text
  pg_get_userbyid(c.relowner),  -- viewowner text
  pg_get_viewdef(c.oid)  -- definition text
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'

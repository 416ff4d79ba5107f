SELECT
  n.nspname,  -- schemaname text
  c.relname,  -- matviewname text
  pg_get_userbyid(c.relowner),  -- matviewowner text
  NULL,  -- tablespace text
  c.relhasindex,  -- hasindexes boolean
  TRUE,  -- ispopulated boolean
  pg_get_viewdef(c.oid)  -- definition text
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'm'

SELECT
  n.nspname,  -- schemaname text
  c.relname,  -- tablename text
  pg_get_userbyid(c.relowner),  -- tableowner text
  NULL,  -- tablespace text
  c.relhasindex,  -- hasindexes boolean
  FALSE,  -- hasrules boolean
  FALSE,  -- hastriggers boolean
  FALSE  -- rowsecurity boolean
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r'

SELECT
  v.oid,  -- oid! oid
  v.name,  -- collname text
  n.oid,  -- collnamespace oid
  10001,  -- collowner oid
  v.provider,  -- collprovider text
  TRUE,  -- collisdeterministic boolean
  6,  -- collencoding integer
  v.collation,  -- collcollate text
  v.collation,  -- collctype text
  NULL,  -- colliculocale text
  NULL  -- collicurules text
FROM (VALUES
  (100, 'default', 'd', NULL),
  (950, 'C', 'c', 'C'),
  (951, 'POSIX', 'c', 'POSIX')) AS v(oid, name, provider, collation)
JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'pg_catalog'

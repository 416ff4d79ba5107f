SELECT
  d.oid,  -- oid! oid
  d.name,  -- datname text
  r.oid,  -- datdba oid
  6,  -- encoding integer
  'c',  -- datlocprovider text
  FALSE,  -- datistemplate boolean
  TRUE,  -- datallowconn boolean
  -1,  -- datconnlimit integer
  'C',  -- datcollate text
  'C',  -- datctype text
  NULL,  -- daticulocale text
  NULL,  -- daticurules text
  1663,  -- dattablespace oid
  a.acl  -- datacl text[]
FROM mz_catalog.mz_databases AS d
JOIN mz_catalog.mz_roles AS r ON r.id = d.owner_id
LEFT JOIN mz_internal.mz_acls AS a ON a.kind = 'database' AND a.oid = d.oid

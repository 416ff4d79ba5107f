SELECT
  s.oid,  -- oid! oid
  s.name,  -- nspname text
  r.oid,  -- nspowner oid
  a.acl  -- nspacl text[]
FROM mz_catalog.mz_schemas AS s
JOIN mz_catalog.mz_roles AS r ON r.id = s.owner_id
LEFT JOIN mz_catalog.mz_databases AS d ON d.id = s.database_id
LEFT JOIN mz_internal.mz_acls AS a ON a.kind = 'schema' AND a.oid = s.oid
WHERE s.database_id IS NULL OR d.name = current_database()

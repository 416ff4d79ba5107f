-- Objects, and the indexes that PostgreSQL would have for constraints and unique indexes.
SELECT
  id,  -- id text
  oid,  -- oid! oid
  schema_id,  -- schema_id bigint
  name,  -- name text
  type,  -- type text
  owner_id  -- owner_id text
FROM mz_catalog.mz_objects
UNION ALL
SELECT
  t.id,
  c.oid,
  t.schema_id,
  c.name,
  'index',
  t.owner_id
FROM mz_internal.mz_constraints AS c
JOIN mz_catalog.mz_objects AS t ON t.oid = c.table_oid
WHERE c.type IN ('p', 'u', 'i')

SELECT
  o.oid,  -- oid! oid
  o.name,  -- relname text
  s.oid,  -- relnamespace oid
  CASE o.type WHEN 'type' THEN o.oid ELSE 0 END,  -- reltype oid
  0,  -- reloftype oid
  r.oid,  -- relowner oid
  CASE o.type WHEN 'index' THEN 403 WHEN 'view' THEN 0 WHEN 'sequence' THEN 0 WHEN 'type' THEN 0 ELSE 2 END,  -- relam oid
  o.oid,  -- relfilenode oid
  0,  -- reltablespace oid
  0,  -- relpages integer
  -1,  -- reltuples real
  0,  -- relallvisible integer
  0,  -- reltoastrelid oid
  i.on_oid IS NOT NULL,  -- relhasindex boolean
  FALSE,  -- relisshared boolean
  CASE WHEN o.id LIKE 't%' THEN 't' ELSE 'p' END,  -- relpersistence text
  CASE
    WHEN o.id LIKE 's%' THEN 'v'
    WHEN o.type = 'index' THEN 'i'
    WHEN o.type = 'sequence' THEN 'S'
    WHEN o.type = 'type' THEN 'c'
    WHEN o.type = 'view' THEN 'v'
    WHEN o.type = 'materialized_view' THEN 'm'
    ELSE 'r'
  END,  -- relkind text
  c.columns,  -- relnatts smallint
  coalesce(n.checks, 0),  -- relchecks smallint
  FALSE,  -- relhasrules boolean
  f.oid IS NOT NULL,  -- relhastriggers boolean
  FALSE,  -- relhassubclass boolean
  FALSE,  -- relrowsecurity boolean
  FALSE,  -- relforcerowsecurity boolean
  TRUE,  -- relispopulated boolean
  'd',  -- relreplident text
  FALSE,  -- relispartition boolean
  a.acl,  -- relacl text[]
  NULL,  -- reloptions text[]
  NULL  -- relpartbound text
FROM mz_internal.mz_objects_and_keys AS o
JOIN mz_catalog.mz_schemas AS s ON s.id = o.schema_id
LEFT JOIN mz_catalog.mz_databases AS d ON d.id = s.database_id
JOIN mz_catalog.mz_roles AS r ON r.id = o.owner_id
LEFT JOIN (
  SELECT
    oid,
    count(*) AS columns
  FROM mz_internal.mz_attributes
  GROUP BY oid
) AS c ON c.oid = o.oid
LEFT JOIN (
  SELECT DISTINCT on_oid
  FROM mz_internal.mz_index_keys
  WHERE NOT is_view_default
) AS i ON i.on_oid = o.oid
LEFT JOIN mz_internal.mz_index_keys AS k ON k.oid = o.oid
LEFT JOIN (
  SELECT
    table_oid,
    count(*) AS checks
  FROM mz_internal.mz_constraints
  WHERE type = 'c'
  GROUP BY table_oid
) AS n ON n.table_oid = o.oid
LEFT JOIN (
  SELECT table_oid AS oid
  FROM mz_internal.mz_constraints
  WHERE type = 'f'
  UNION
  SELECT target_oid
  FROM mz_internal.mz_constraints
  WHERE type = 'f'
) AS f ON f.oid = o.oid
LEFT JOIN mz_internal.mz_types AS t ON t.oid = o.oid AND o.type = 'type'
LEFT JOIN mz_internal.mz_acls AS a ON a.kind = 'relation' AND a.oid = o.oid
WHERE
  (s.database_id IS NULL OR d.name = current_database())
  AND NOT o.type IN ('secret', 'connection', 'function')
  AND (o.type <> 'type' OR t.category = 'C')
  AND (k.oid IS NULL OR NOT k.is_view_default)

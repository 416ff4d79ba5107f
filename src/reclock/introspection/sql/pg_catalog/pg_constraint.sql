SELECT
  c.oid,  -- oid! oid
  c.name,  -- conname text
  t.relnamespace,  -- connamespace oid
  c.type,  -- contype text
  c.is_deferrable,  -- condeferrable boolean
  c.is_deferred,  -- condeferred boolean
  c.is_enforced,  -- conenforced boolean
  c.is_enforced OR c.type IN ('p', 'u'),  -- convalidated boolean
  c.table_oid,  -- conrelid oid
  0,  -- contypid oid
  c.index_oid,  -- conindid oid
  0,  -- conparentid oid
  c.target_oid,  -- confrelid oid
  c.on_update,  -- confupdtype text
  c.on_delete,  -- confdeltype text
  c.match,  -- confmatchtype text
  TRUE,  -- conislocal boolean
  0,  -- coninhcount smallint
  c.type <> 'c',  -- connoinherit boolean
  c.positions,  -- conkey smallint[]
  c.target_positions,  -- confkey smallint[]
  c.condition  -- conbin text
FROM mz_internal.mz_constraints AS c
JOIN pg_catalog.pg_class AS t ON t.oid = c.table_oid
WHERE c.type <> 'i'
UNION ALL
SELECT
  c.oid,
  c.name,
  t.typnamespace,
  'c',
  FALSE,
  FALSE,
  TRUE,
  c.is_valid,
  0,
  c.domain_oid,
  0,
  0,
  0,
  ' ',
  ' ',
  ' ',
  TRUE,
  0,
  FALSE,
  NULL,
  NULL,
  c.condition
FROM mz_internal.mz_domain_constraints AS c
JOIN pg_catalog.pg_type AS t ON t.oid = c.domain_oid

SELECT
  f.oid,  -- oid! oid
  f.name,  -- proname text
  n.oid,  -- pronamespace oid
  10001,  -- proowner oid
  12,  -- prolang oid
  'f',  -- prokind text
  FALSE,  -- prosecdef boolean
  FALSE,  -- proleakproof boolean
  TRUE,  -- proisstrict boolean
  FALSE,  -- proretset boolean
  'i',  -- provolatile text
  's',  -- proparallel text
  1,  -- pronargs smallint
  f.result_type,  -- prorettype oid
  f.argument_types,  -- proargtypes oidvector
  CAST(NULL AS oid[]),  -- proallargtypes oid[]
  CAST(NULL AS text[]),  -- proargmodes text[]
  CAST(NULL AS text[]),  -- proargnames text[]
  f.name,  -- prosrc text
  NULL,  -- proargdefaults text
  CAST(NULL AS text[])  -- proacl text[]
FROM mz_internal.mz_type_functions AS f
JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'pg_catalog'
UNION ALL
SELECT
  f.oid,
  f.name,
  s.oid,
  f.owner_oid,
  14,
  'f',
  FALSE,
  FALSE,
  f.is_strict,
  f.is_set,
  f.volatility,
  'u',
  f.argument_count,
  f.result_type,
  f.argument_types,
  NULL,
  NULL,
  f.argument_names,
  f.source,
  NULL,
  a.acl
FROM mz_internal.mz_functions AS f
JOIN mz_catalog.mz_schemas AS s ON s.id = f.schema_id
LEFT JOIN mz_catalog.mz_databases AS d ON d.id = s.database_id
LEFT JOIN mz_internal.mz_acls AS a ON a.kind = 'relation' AND a.oid = f.oid
WHERE d.name = current_database()

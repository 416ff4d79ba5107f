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
  NULL,  -- proallargtypes oid[]
  NULL,  -- proargmodes text[]
  NULL,  -- proargnames text[]
  f.name,  -- prosrc text
  NULL,  -- proargdefaults text
  NULL  -- proacl text[]
FROM mz_internal.mz_type_functions AS f
JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'pg_catalog'

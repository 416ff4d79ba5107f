SELECT
  name,  -- name text
  statement,  -- statement text
  NULL,  -- prepare_time timestamp with time zone
  parameter_types,  -- parameter_types text[]
  NULL,  -- result_types text[]
  NULL,  -- from_sql boolean
  NULL,  -- generic_plans bigint
  NULL  -- custom_plans bigint
FROM mz_internal.mz_prepared_statements
WHERE pid = pg_backend_pid()

SELECT
  n.nspname,  -- schemaname text
  c.relname,  -- sequencename text
  r.rolname,  -- sequenceowner text
  CAST(s.type_oid AS regtype),  -- data_type regtype
  s.start,  -- start_value bigint
  s.minimum,  -- min_value bigint
  s.maximum,  -- max_value bigint
  s.increment,  -- increment_by bigint
  s.is_cyclic,  -- cycle boolean
  s.cache,  -- cache_size bigint
  s.last_value  -- last_value bigint
FROM mz_internal.mz_sequences AS s
JOIN pg_catalog.pg_class AS c ON c.oid = s.oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles AS r ON r.oid = c.relowner

SELECT
  current_database(),  -- sequence_catalog text
  n.nspname,  -- sequence_schema text
  c.relname,  -- sequence_name text
  t.sql_name,  -- data_type text
  -- numeric_precision integer
  CASE t.name WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 ELSE 64 END,
  2,  -- numeric_precision_radix integer
  0,  -- numeric_scale integer
  CAST(s.start AS text),  -- start_value text
  CAST(s.minimum AS text),  -- minimum_value text
  CAST(s.maximum AS text),  -- maximum_value text
  CAST(s.increment AS text),  -- increment text
  CASE WHEN s.is_cyclic THEN 'YES' ELSE 'NO' END  -- cycle_option text
FROM mz_internal.mz_sequences AS s
JOIN pg_catalog.pg_class AS c ON c.oid = s.oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN mz_internal.mz_types AS t ON t.oid = s.type_oid
WHERE NOT s.is_identity

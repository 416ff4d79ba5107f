SELECT
  current_database(),  -- specific_catalog text
  n.nspname,  -- specific_schema text
  p.proname || '_' || CAST(p.oid AS text),  -- specific_name text
  current_database(),  -- routine_catalog text
  n.nspname,  -- routine_schema text
  p.proname,  -- routine_name text
  'FUNCTION',  -- routine_type text
  CASE WHEN p.prorettype = 2249 THEN 'record' ELSE t.sql_name END,  -- data_type text
  'SQL',  -- routine_body text
  p.prosrc,  -- routine_definition text
  CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END,  -- is_deterministic text
  CASE WHEN p.proisstrict THEN 'YES' ELSE 'NO' END,  -- is_null_call text
  'INVOKER'  -- security_type text
FROM pg_catalog.pg_proc AS p
JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
LEFT JOIN mz_internal.mz_types AS t ON t.oid = p.prorettype
WHERE p.prolang = 14

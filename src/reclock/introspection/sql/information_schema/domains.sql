SELECT
  current_database(),  -- domain_catalog text
  n.nspname,  -- domain_schema text
  t.typname,  -- domain_name text
  -- data_type text
  CASE WHEN b.namespace_oid = u.oid THEN b.sql_name ELSE 'USER-DEFINED' END,
  -- character_maximum_length integer
  CASE WHEN b.name IN ('bpchar', 'varchar') AND d.base_modifier > 4 THEN d.base_modifier - 4 END,
  -- numeric_precision integer
  CASE
    WHEN b.name = 'numeric' AND d.base_modifier > 4 THEN (d.base_modifier - 4) / 65536
    WHEN b.name IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN CASE b.name
      WHEN 'int2' THEN 16
      WHEN 'int4' THEN 32
      WHEN 'int8' THEN 64
      WHEN 'float4' THEN 24
      ELSE 53
    END
  END,
  -- numeric_scale integer
  CASE
    WHEN b.name = 'numeric' AND d.base_modifier > 4 THEN (d.base_modifier - 4) % 65536
    WHEN b.name LIKE 'int_' THEN 0
  END,
  t.typdefault,  -- domain_default text
  current_database(),  -- udt_catalog text
  v.nspname,  -- udt_schema text
  b.name  -- udt_name text
FROM mz_internal.mz_domains AS d
JOIN pg_catalog.pg_type AS t ON t.oid = d.oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
JOIN mz_internal.mz_types AS b ON b.oid = d.base_oid
JOIN pg_catalog.pg_namespace AS v ON v.oid = b.namespace_oid
JOIN pg_catalog.pg_namespace AS u ON u.nspname = 'pg_catalog'

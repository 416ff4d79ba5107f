SELECT
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  c.relname,  -- table_name text
  a.attname,  -- column_name text
  a.attnum,  -- ordinal_position integer
  CASE WHEN a.attgenerated = '' THEN d.adbin END,  -- column_default text
  CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END,  -- is_nullable text
  CASE
    WHEN t.category = 'A' THEN 'ARRAY'
    WHEN u.nspname = 'pg_catalog' THEN t.sql_name
    ELSE 'USER-DEFINED'
  END,  -- data_type text
  -- character_maximum_length integer
  CASE WHEN t.name IN ('bpchar', 'varchar') AND a.type_modifier > 4 THEN a.type_modifier - 4 END,
  CASE
    WHEN a.type_oid = 1700 AND a.type_modifier > 4 THEN (a.type_modifier - 4) / 65536
    WHEN t.name IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN CASE t.name
      WHEN 'int2' THEN 16
      WHEN 'int4' THEN 32
      WHEN 'int8' THEN 64
      WHEN 'float4' THEN 24
      ELSE 53
    END
  END,  -- numeric_precision integer
  -- numeric_precision_radix integer
  CASE WHEN a.type_oid = 1700 AND a.type_modifier > 4 THEN 10 WHEN t.category = 'N' THEN 2 END,
  CASE
    WHEN a.type_oid = 1700 AND a.type_modifier > 4 THEN (a.type_modifier - 4) % 65536
    WHEN t.name LIKE 'int_' THEN 0
  END,  -- numeric_scale integer
  CASE WHEN t.name = 'date' THEN 0
    WHEN a.type_oid IN (1083, 1114, 1184) AND a.type_modifier >= 0 THEN a.type_modifier
    WHEN t.category = 'D' THEN 6 END,  -- datetime_precision integer
  CASE WHEN a.domain_name IS NOT NULL THEN current_database() END,  -- domain_catalog text
  a.domain_schema,  -- domain_schema text
  a.domain_name,  -- domain_name text
  current_database(),  -- udt_catalog text
  u.nspname,  -- udt_schema text
  t.name,  -- udt_name text
  CASE a.attidentity WHEN '' THEN 'NO' ELSE 'YES' END,  -- is_identity text
  -- identity_generation text
  CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END,
  CAST(q.start AS text),  -- identity_start text
  CAST(q.increment AS text),  -- identity_increment text
  CAST(q.maximum AS text),  -- identity_maximum text
  CAST(q.minimum AS text),  -- identity_minimum text
  CASE q.is_cyclic WHEN TRUE THEN 'YES' ELSE 'NO' END,  -- identity_cycle text
  CASE a.attgenerated WHEN '' THEN 'NEVER' ELSE 'ALWAYS' END,  -- is_generated text
  CASE WHEN a.attgenerated <> '' THEN d.adbin END,  -- generation_expression text
  CASE WHEN c.relkind = 'r' THEN 'YES' ELSE 'NO' END  -- is_updatable text
FROM (
  SELECT
    a.*,
    CASE WHEN d.oid IS NULL THEN a.atttypid ELSE d.base_oid END AS type_oid,
    CASE WHEN d.oid IS NULL THEN a.atttypmod ELSE d.base_modifier END AS type_modifier,
    s.nspname AS domain_schema,
    t.name AS domain_name
  FROM pg_catalog.pg_attribute AS a
  LEFT JOIN mz_internal.mz_domains AS d ON d.oid = a.atttypid
  LEFT JOIN mz_internal.mz_types AS t ON t.oid = d.oid
  LEFT JOIN pg_catalog.pg_namespace AS s ON s.oid = t.namespace_oid
) AS a
JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN mz_internal.mz_types AS t ON t.oid = a.type_oid
JOIN pg_catalog.pg_namespace AS u ON u.oid = t.namespace_oid
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN mz_internal.mz_sequences AS q
  ON q.owner_oid = a.attrelid AND q.owner_position = a.attnum AND q.is_identity
WHERE c.relkind IN ('r', 'v')

SELECT
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  c.relname,  -- table_name text
  a.attname,  -- column_name text
  a.attnum,  -- ordinal_position integer
  d.adbin,  -- column_default text
  CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END,  -- is_nullable text
  CASE t.category WHEN 'A' THEN 'ARRAY' WHEN 'E' THEN 'USER-DEFINED' ELSE t.sql_name END,  -- data_type text
  -- character_maximum_length integer
  CASE WHEN t.name IN ('bpchar', 'varchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 END,
  CASE
    WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN (a.atttypmod - 4) / 65536
    WHEN t.name IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN CASE t.name
      WHEN 'int2' THEN 16
      WHEN 'int4' THEN 32
      WHEN 'int8' THEN 64
      WHEN 'float4' THEN 24
      ELSE 53
    END
  END,  -- numeric_precision integer
  -- numeric_precision_radix integer
  CASE WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN 10 WHEN t.category = 'N' THEN 2 END,
  CASE
    WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN (a.atttypmod - 4) % 65536
    WHEN t.name LIKE 'int_' THEN 0
  END,  -- numeric_scale integer
  CASE WHEN t.name = 'date' THEN 0
    WHEN a.atttypid IN (1083, 1114, 1184) AND a.atttypmod >= 0 THEN a.atttypmod
    WHEN t.category = 'D' THEN 6 END,  -- datetime_precision integer
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
  'NEVER',  -- is_generated text
  CASE WHEN c.relkind = 'r' THEN 'YES' ELSE 'NO' END  -- is_updatable text
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN mz_internal.mz_types AS t ON t.oid = a.atttypid
JOIN pg_catalog.pg_namespace AS u ON u.oid = t.namespace_oid
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN mz_internal.mz_sequences AS q
  ON q.owner_oid = a.attrelid AND q.owner_position = a.attnum AND q.is_identity
WHERE c.relkind IN ('r', 'v')

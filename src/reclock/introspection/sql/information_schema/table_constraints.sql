SELECT
  current_database(),  -- constraint_catalog text
  cn.nspname,  -- constraint_schema text
  c.conname,  -- constraint_name text
  current_database(),  -- table_catalog text
  n.nspname,  -- table_schema text
  t.relname,  -- table_name text
  CASE c.contype
    WHEN 'p' THEN 'PRIMARY KEY'
    WHEN 'u' THEN 'UNIQUE'
    WHEN 'f' THEN 'FOREIGN KEY'
    ELSE 'CHECK'
  END,  -- constraint_type text
  CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END,  -- is_deferrable text
  CASE WHEN c.condeferred THEN 'YES' ELSE 'NO' END,  -- initially_deferred text
  CASE WHEN c.conenforced THEN 'YES' ELSE 'NO' END,  -- enforced text
  -- nulls_distinct text
  CASE WHEN x.indnullsnotdistinct THEN 'NO' WHEN c.contype = 'u' THEN 'YES' END
FROM pg_catalog.pg_constraint AS c
JOIN pg_catalog.pg_namespace AS cn ON cn.oid = c.connamespace
JOIN pg_catalog.pg_class AS t ON t.oid = c.conrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
LEFT JOIN pg_catalog.pg_index AS x ON x.indexrelid = c.oid
UNION ALL
SELECT
  current_database(),
  n.nspname,
  t.relname || '_' || a.attname || '_not_null',
  current_database(),
  n.nspname,
  t.relname,
  'CHECK',
  'NO',
  'NO',
  'YES',
  NULL
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_class AS t ON t.oid = a.attrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
WHERE a.attnotnull AND t.relkind = 'r'

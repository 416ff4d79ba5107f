SELECT
  current_database(),  -- constraint_catalog text
  cn.nspname,  -- constraint_schema text
  c.conname,  -- constraint_name text
  CASE WHEN u.oid IS NOT NULL THEN current_database() END,  -- unique_constraint_catalog text
  un.nspname,  -- unique_constraint_schema text
  u.conname,  -- unique_constraint_name text
  CASE c.confmatchtype WHEN 'f' THEN 'FULL' WHEN 's' THEN 'NONE' END,  -- match_option text
  CASE c.confupdtype
    WHEN 'a' THEN 'NO ACTION'
    WHEN 'r' THEN 'RESTRICT'
    WHEN 'c' THEN 'CASCADE'
    WHEN 'n' THEN 'SET NULL'
    WHEN 'd' THEN 'SET DEFAULT'
  END,  -- update_rule text
  CASE c.confdeltype
    WHEN 'a' THEN 'NO ACTION'
    WHEN 'r' THEN 'RESTRICT'
    WHEN 'c' THEN 'CASCADE'
    WHEN 'n' THEN 'SET NULL'
    WHEN 'd' THEN 'SET DEFAULT'
  END  -- delete_rule text
FROM pg_catalog.pg_constraint AS c
JOIN pg_catalog.pg_namespace AS cn ON cn.oid = c.connamespace
LEFT JOIN pg_catalog.pg_constraint AS u ON u.oid = c.conindid
LEFT JOIN pg_catalog.pg_namespace AS un ON un.oid = u.connamespace
WHERE c.contype = 'f'

SELECT
  c.oid,  -- objoid oid
  class.oid,  -- classoid oid
  c.comment  -- description text
FROM mz_internal.mz_object_comments AS c
JOIN mz_catalog.mz_objects AS class ON class.name = c.class_name AND class.id LIKE 's%'
WHERE c.class_name IN ('pg_database', 'pg_authid')

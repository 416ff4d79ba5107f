SELECT
  c.oid,  -- objoid! oid
  class.oid,  -- classoid! oid
  coalesce(c.object_sub_id, 0),  -- objsubid! integer
  c.comment  -- description text
FROM mz_internal.mz_object_comments AS c
JOIN mz_catalog.mz_objects AS class ON class.name = c.class_name AND class.id LIKE 's%'
WHERE c.class_name IN ('pg_class', 'pg_constraint', 'pg_namespace', 'pg_proc', 'pg_type')

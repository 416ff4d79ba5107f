SELECT
  id,  -- id text
  object_type,  -- object_type text
  object_sub_id,  -- object_sub_id integer
  comment  -- comment text
FROM mz_internal.mz_object_comments

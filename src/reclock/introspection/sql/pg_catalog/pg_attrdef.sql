SELECT
  oid,  -- oid oid
  oid,  -- adrelid! oid
  position,  -- adnum! smallint
  default_sql  -- adbin text
FROM mz_internal.mz_attributes
WHERE default_sql IS NOT NULL

SELECT
  a.oid,  -- attrelid! oid
  a.name,  -- attname text
  a.type_oid,  -- atttypid oid
  t.size,  -- attlen smallint
  a.position,  -- attnum! smallint
  0,  -- attndims smallint
  -1,  -- attcacheoff integer
  a.type_modifier,  -- atttypmod integer
  a.not_null,  -- attnotnull boolean
  a.default_sql IS NOT NULL,  -- atthasdef boolean
  CASE a.generated WHEN 's' THEN '' ELSE a.generated END,  -- attidentity text
  CASE a.generated WHEN 's' THEN 's' ELSE '' END,  -- attgenerated text
  FALSE,  -- attisdropped boolean
  TRUE,  -- attislocal boolean
  0,  -- attinhcount smallint
  CASE WHEN t.category = 'S' THEN 100 ELSE 0 END,  -- attcollation oid
  CASE WHEN t.name = 'numeric' THEN 'm' WHEN t.size = -1 THEN 'x' ELSE 'p' END,  -- attstorage text
  '',  -- attcompression text
  -1,  -- attstattarget smallint
  NULL,  -- attacl text[]
  NULL  -- attoptions text[]
FROM mz_internal.mz_attributes AS a
LEFT JOIN mz_internal.mz_types AS t ON t.oid = a.type_oid

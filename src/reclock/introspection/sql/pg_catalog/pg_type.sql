SELECT
  t.oid,  -- oid! oid
  t.name,  -- typname text
  n.oid,  -- typnamespace oid
  t.owner_oid,  -- typowner oid
  t.size,  -- typlen smallint
  t.size IN (1, 2, 4, 8),  -- typbyval boolean
  CASE WHEN d.oid IS NOT NULL THEN 'd' ELSE CASE t.category WHEN 'R' THEN 'r' WHEN 'P' THEN 'p' WHEN 'E' THEN 'e' WHEN 'C' THEN 'c' ELSE 'b' END END,  -- typtype "char"
  t.category,  -- typcategory text
  FALSE,  -- typispreferred boolean
  TRUE,  -- typisdefined boolean
  ',',  -- typdelim text
  CASE WHEN t.category = 'C' THEN t.oid ELSE 0 END,  -- typrelid oid
  t.element_oid,  -- typelem oid
  t.array_oid,  -- typarray oid
  t.input,  -- typinput regproc
  t.output,  -- typoutput regproc
  t.receive,  -- typreceive regproc
  t.send,  -- typsend regproc
  coalesce(d.not_null, FALSE),  -- typnotnull boolean
  coalesce(d.base_oid, 0),  -- typbasetype oid
  coalesce(d.base_modifier, -1),  -- typtypmod integer
  0,  -- typndims integer
  CASE WHEN t.category = 'S' THEN 100 ELSE 0 END,  -- typcollation oid
  d.default_sql,  -- typdefault text
  NULL  -- typacl text[]
FROM mz_internal.mz_types AS t
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.namespace_oid
LEFT JOIN mz_internal.mz_domains AS d ON d.oid = t.oid

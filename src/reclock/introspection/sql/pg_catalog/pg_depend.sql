SELECT
  rewrite.oid,  -- classid oid
  d.view_oid,  -- objid oid
  0,  -- objsubid integer
  class.oid,  -- refclassid oid
  d.oid,  -- refobjid oid
  0,  -- refobjsubid integer
  d.type  -- deptype text
FROM (
  SELECT
    v.oid AS view_oid,
    o.oid,
    'n' AS type
  FROM mz_internal.mz_object_dependencies AS d
  JOIN mz_catalog.mz_objects AS v ON v.id = d.object_id
  JOIN mz_catalog.mz_objects AS o ON o.id = d.referenced_object_id
  WHERE v.type IN ('view', 'materialized_view')
  UNION ALL
  SELECT
    oid,
    oid,
    'i'
  FROM mz_catalog.mz_objects
  WHERE type IN ('view', 'materialized_view') AND id LIKE 'u%'
) AS d, mz_catalog.mz_objects AS rewrite, mz_catalog.mz_objects AS class
WHERE
  rewrite.name = 'pg_rewrite'
  AND rewrite.id LIKE 's%'
  AND class.name = 'pg_class'
  AND class.id LIKE 's%'
UNION ALL
SELECT
  class.oid,
  s.oid,
  0,
  class.oid,
  s.owner_oid,
  CAST(s.owner_position AS integer),
  CASE WHEN s.is_identity THEN 'i' ELSE 'a' END
FROM mz_internal.mz_sequences AS s, mz_catalog.mz_objects AS class
WHERE s.owner_oid IS NOT NULL AND class.name = 'pg_class' AND class.id LIKE 's%'

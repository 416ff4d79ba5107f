-- A relation is visible if its name alone finds it. Those of mz_catalog and mz_internal are found
-- too, but clients that list visible relations want those that users made.
WITH here AS (
  SELECT
    s.id,
    s.name
  FROM mz_catalog.mz_schemas AS s
  LEFT JOIN mz_catalog.mz_databases AS d ON d.id = s.database_id
  WHERE s.database_id IS NULL OR d.name = current_database()
)
SELECT
  o.oid,  -- oid! oid
  v.oid IS NOT NULL,  -- is_visible boolean
  -- shown_name text
  CASE WHEN v.oid IS NULL THEN quote_ident(s.name) || '.' ELSE '' END || quote_ident(o.name),
  quote_ident(s.name) || '.' || quote_ident(o.name)  -- full_name text
FROM mz_internal.mz_objects_and_keys AS o
JOIN here AS s ON s.id = o.schema_id
LEFT JOIN (
  SELECT DISTINCT ON (f.name)
    f.oid
  FROM mz_internal.mz_objects_and_keys AS f
  JOIN here AS m ON m.id = f.schema_id
  WHERE
    m.name = ANY(current_schemas(TRUE) || CAST('mz_temp' AS TEXT))
    AND NOT m.name IN ('mz_catalog', 'mz_internal')
  ORDER BY
    f.name,
    coalesce(2 * array_position(current_schemas(TRUE), m.name), 7),
    f.oid
) AS v ON v.oid = o.oid

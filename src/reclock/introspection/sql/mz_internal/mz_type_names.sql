-- A type is visible if its name alone finds it: no schema that is searched before its own has a type
-- of that name. The names of other types are shown with their schemas.
WITH visible AS (
  SELECT DISTINCT ON (t.name)
    t.oid
  FROM mz_internal.mz_types AS t
  JOIN pg_catalog.pg_namespace AS n ON n.oid = t.namespace_oid
  WHERE n.nspname = ANY(current_schemas(TRUE))
  ORDER BY
    t.name,
    array_position(current_schemas(TRUE), n.nspname)
), named AS (
  SELECT
    t.oid,
    v.oid IS NOT NULL AS is_visible,
    CASE
      WHEN n.nspname = 'pg_catalog' THEN NULL
      WHEN v.oid IS NULL THEN quote_ident(n.nspname) || '.' || quote_ident(t.name)
      ELSE quote_ident(t.name)
    END AS name
  FROM mz_internal.mz_types AS t
  JOIN pg_catalog.pg_namespace AS n ON n.oid = t.namespace_oid
  LEFT JOIN visible AS v ON v.oid = t.oid
), types AS (
  SELECT
    oid,
    sql_name,
    CASE WHEN sql_name LIKE '%[]' THEN element_oid ELSE oid END AS base_oid,
    CASE WHEN sql_name LIKE '%[]' THEN '[]' ELSE '' END AS brackets
  FROM mz_internal.mz_types
)
SELECT
  t.oid,  -- oid! oid
  -- shown_name text
  coalesce(b.name || t.brackets, t.sql_name),
  t.base_oid,  -- base_oid oid
  b.is_visible  -- is_visible boolean
FROM types AS t
LEFT JOIN named AS b ON b.oid = t.base_oid

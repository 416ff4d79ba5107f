SELECT
  oid,  -- oid! oid
  '_RETURN',  -- rulename text
  oid,  -- ev_class oid
  '1',  -- ev_type text
  'O',  -- ev_enabled text
  TRUE  -- is_instead boolean
FROM mz_catalog.mz_objects
WHERE type IN ('view', 'materialized_view') AND id LIKE 'u%'

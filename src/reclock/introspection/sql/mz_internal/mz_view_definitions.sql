SELECT
  oid,  -- oid! oid
  ' ' || query || ';'  -- definition text
FROM mz_internal.mz_view_queries

SELECT
  o.oid,  -- oid! oid
  sum(u.size_bytes)  -- size_bytes bigint
FROM mz_catalog.mz_recent_storage_usage AS u
JOIN mz_catalog.mz_objects AS o ON o.id = u.object_id
GROUP BY o.oid

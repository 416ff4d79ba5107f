SELECT
  name,  -- name text
  NULL,  -- statement text
  is_holdable,  -- is_holdable boolean
  FALSE,  -- is_binary boolean
  is_scrollable,  -- is_scrollable boolean
  NULL  -- creation_time timestamp with time zone
FROM mz_internal.mz_cursors
WHERE pid = pg_backend_pid()

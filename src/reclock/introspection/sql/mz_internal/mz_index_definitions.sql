SELECT
  k.oid,  -- oid! oid
  CASE WHEN k.is_unique THEN 'CREATE UNIQUE INDEX ' ELSE 'CREATE INDEX ' END || quote_ident(i.name)
    || ' ON ' || quote_ident(s.name) || '.' || quote_ident(t.name) || ' USING btree (' || k.key || ')'
    || CASE WHEN cardinality(k.parts) > k.key_count
      THEN ' INCLUDE (' || array_to_string(k.parts[k.key_count + 1:], ', ') || ')' ELSE '' END
    || CASE WHEN k.are_nulls_equal THEN ' NULLS NOT DISTINCT' ELSE '' END
    || coalesce(' WHERE ' || k.predicate, '')  -- indexdef text
FROM mz_internal.mz_index_keys AS k
JOIN mz_internal.mz_objects_and_keys AS i ON i.oid = k.oid
JOIN mz_catalog.mz_objects AS t ON t.oid = k.on_oid
JOIN mz_catalog.mz_schemas AS s ON s.id = t.schema_id

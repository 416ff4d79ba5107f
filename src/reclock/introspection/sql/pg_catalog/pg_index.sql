SELECT
  oid,  -- indexrelid! oid
  on_oid,  -- indrelid oid
  cardinality(positions),  -- indnatts smallint
  key_count,  -- indnkeyatts smallint
  is_unique,  -- indisunique boolean
  are_nulls_equal,  -- indnullsnotdistinct boolean
  is_primary,  -- indisprimary boolean
  FALSE,  -- indisexclusion boolean
  is_immediate,  -- indimmediate boolean
  FALSE,  -- indisclustered boolean
  TRUE,  -- indisvalid boolean
  TRUE,  -- indisready boolean
  FALSE,  -- indisreplident boolean
  positions,  -- indkey int2vector
  collations,  -- indcollation oidvector
  array_fill(0, ARRAY[key_count::int]),  -- indclass oidvector
  options,  -- indoption int2vector
  expressions,  -- indexprs text
  predicate  -- indpred text
FROM mz_internal.mz_index_keys
WHERE NOT is_view_default

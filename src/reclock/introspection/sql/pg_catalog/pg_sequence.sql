SELECT
  oid,  -- seqrelid! oid
  type_oid,  -- seqtypid oid
  start,  -- seqstart bigint
  increment,  -- seqincrement bigint
  maximum,  -- seqmax bigint
  minimum,  -- seqmin bigint
  cache,  -- seqcache bigint
  is_cyclic  -- seqcycle boolean
FROM mz_internal.mz_sequences

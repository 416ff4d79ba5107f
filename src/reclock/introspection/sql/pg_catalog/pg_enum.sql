SELECT
  e.oid,  -- oid! oid
  e.type_oid,  -- enumtypid oid
  e.position,  -- enumsortorder real
  e.label  -- enumlabel text
FROM mz_internal.mz_enums AS e

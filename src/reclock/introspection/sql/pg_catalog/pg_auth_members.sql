SELECT
  r.oid,  -- roleid oid
  m.oid,  -- member oid
  g.oid,  -- grantor oid
  FALSE,  -- admin_option boolean
  TRUE,  -- inherit_option boolean
  TRUE  -- set_option boolean
FROM mz_catalog.mz_role_members AS a
JOIN mz_catalog.mz_roles AS r ON r.id = a.role_id
JOIN mz_catalog.mz_roles AS m ON m.id = a.member
JOIN mz_catalog.mz_roles AS g ON g.id = a.grantor

SELECT
  m.rolname,  -- grantee text
  r.rolname,  -- role_name text
  'NO'  -- is_grantable text
FROM pg_catalog.pg_auth_members AS a
JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
JOIN pg_catalog.pg_roles AS r ON r.oid = a.roleid

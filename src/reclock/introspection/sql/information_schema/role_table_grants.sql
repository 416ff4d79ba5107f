-- columns of table_privileges
SELECT
  grantor,
  grantee,
  table_catalog,
  table_schema,
  table_name,
  privilege_type,
  is_grantable,
  with_hierarchy
FROM information_schema.table_privileges
WHERE grantee <> 'PUBLIC'

SELECT
  rolname  -- role_name text
FROM pg_catalog.pg_roles

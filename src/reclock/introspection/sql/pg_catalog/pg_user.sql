SELECT
  rolname,  -- usename text
  oid,  -- usesysid oid
  rolcreatedb,  -- usecreatedb boolean
  rolsuper,  -- usesuper boolean
  FALSE,  -- userepl boolean
  FALSE,  -- usebypassrls boolean
  '********',  -- passwd text
  NULL,  -- valuntil timestamp with time zone
  NULL  -- useconfig text[]
FROM pg_catalog.pg_roles
WHERE rolcanlogin

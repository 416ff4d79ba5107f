SELECT
  oid,  -- oid! oid
  name,  -- rolname text
  rolsuper,  -- rolsuper boolean
  inherit,  -- rolinherit boolean
  rolsuper,  -- rolcreaterole boolean
  rolsuper,  -- rolcreatedb boolean
  rolcanlogin,  -- rolcanlogin boolean
  FALSE,  -- rolreplication boolean
  -1,  -- rolconnlimit integer
  '********',  -- rolpassword text
  NULL,  -- rolvaliduntil timestamp with time zone
  FALSE,  -- rolbypassrls boolean
  NULL  -- rolconfig text[]
FROM mz_catalog.mz_roles

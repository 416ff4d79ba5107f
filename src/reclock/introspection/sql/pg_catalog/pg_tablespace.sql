-- oid! oid
-- spcname text
-- spcowner oid
-- spcacl text[]
-- spcoptions text[]
VALUES
  (1663, 'pg_default', 10001, NULL, NULL)

SELECT
  pid,  -- pid! integer
  FALSE,  -- gss_authenticated boolean
  NULL,  -- principal text
  FALSE,  -- encrypted boolean
  FALSE  -- credentials_delegated boolean
FROM pg_catalog.pg_stat_activity

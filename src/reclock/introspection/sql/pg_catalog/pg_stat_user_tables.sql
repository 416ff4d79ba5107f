SELECT *  -- columns of pg_stat_all_tables
FROM pg_catalog.pg_stat_all_tables
WHERE NOT schemaname IN ('pg_catalog', 'information_schema', 'mz_catalog', 'mz_internal')

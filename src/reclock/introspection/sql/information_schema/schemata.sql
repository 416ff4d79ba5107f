SELECT
  current_database(),  -- catalog_name text
  nspname,  -- schema_name text
  pg_get_userbyid(nspowner),  -- schema_owner text
  NULL,  -- default_character_set_catalog text
  NULL,  -- default_character_set_schema text
  NULL,  -- default_character_set_name text
  NULL  -- sql_path text
FROM pg_catalog.pg_namespace

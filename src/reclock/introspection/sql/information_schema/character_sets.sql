SELECT
  NULL,  -- character_set_catalog text
  NULL,  -- character_set_schema text
  'UTF8',  -- character_set_name text
  'UCS',  -- character_repertoire text
  'UTF8',  -- form_of_use text
  current_database()  -- default_collate_catalog text

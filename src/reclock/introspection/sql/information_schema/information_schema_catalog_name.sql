SELECT
  current_database()  -- catalog_name text

SELECT
  name,  -- name! text
  current_setting(name),  -- setting text
  -- unit text
  CASE WHEN name LIKE '%_timeout' THEN 'ms' WHEN name = 'max_result_size' THEN 'B' END,
  'Client Connection Defaults',  -- category text
  description,  -- short_desc text
  NULL,  -- extra_desc text
  'user',  -- context text
  CASE
    WHEN setting IN ('on', 'off') THEN 'bool'
    WHEN setting ~ '^[0-9]+$' THEN 'integer'
    ELSE 'string'
  END,  -- vartype text
  CASE WHEN current_setting(name) = setting THEN 'default' ELSE 'session' END,  -- source text
  NULL,  -- min_val text
  NULL,  -- max_val text
  NULL,  -- enumvals text[]
  setting,  -- boot_val text
  setting,  -- reset_val text
  NULL,  -- sourcefile text
  NULL,  -- sourceline integer
  FALSE  -- pending_restart boolean
FROM mz_internal.mz_settings

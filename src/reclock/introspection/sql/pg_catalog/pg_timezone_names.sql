SELECT
  name,  -- name! text
  abbreviation,  -- abbrev text
  to_timestamp(utc_offset_s) - to_timestamp(0),  -- utc_offset interval
  is_dst  -- is_dst boolean
FROM mz_internal.mz_time_zones

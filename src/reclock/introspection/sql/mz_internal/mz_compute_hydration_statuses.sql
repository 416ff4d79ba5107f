SELECT
  replica_id,  -- replica_id bigint
  export_id,  -- object_id text
  time_ns IS NOT NULL,  -- hydrated boolean
  time_ns  -- time_ns bigint
FROM mz_internal.mz_compute_hydration_times_unified

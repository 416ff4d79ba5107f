SELECT
  c.oid,  -- oid! oid
  c.definition || coalesce(v.shown_name, '') || c.definition_after_target  -- definition text
FROM mz_internal.mz_constraints AS c
LEFT JOIN mz_internal.mz_visible_relations AS v ON v.oid = c.target_oid
WHERE c.type <> 'i'
UNION ALL
SELECT d.oid, d.definition
FROM mz_internal.mz_domain_constraints AS d

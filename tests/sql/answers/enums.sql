SELECT n, m, s FROM moods ORDER BY m, n
SELECT n, m FROM moods ORDER BY m DESC NULLS LAST, n DESC
SELECT n, m > 'sad', m >= 'ok'::mood, m < 'happy', m <= 'ok', m = 'ok', m <> 'ok', m IS DISTINCT FROM 'ok' FROM moods
SELECT n FROM moods WHERE m > 'ok'
SELECT n FROM moods WHERE m = 'a b'
SELECT n FROM moods WHERE m BETWEEN 'ok' AND 'happy'
SELECT n FROM moods WHERE m IN ('sad', 'happy')
SELECT n FROM moods WHERE m NOT IN ('sad', 'happy')
SELECT m, count(*), min(n) FROM moods GROUP BY m ORDER BY m
SELECT min(m), max(m), count(m), count(DISTINCT m) FROM moods
SELECT s, min(m), max(m) FROM moods GROUP BY s
SELECT max(m) FILTER (WHERE n < 5), min(m) FILTER (WHERE n > 100) FROM moods
SELECT DISTINCT m FROM moods ORDER BY m
SELECT DISTINCT ON (m) m, n FROM moods ORDER BY m DESC, n
SELECT n, m::text, m::text || '!', length(m::text), upper(m::text) FROM moods
SELECT n, m || '!', concat(m, n) FROM moods
SELECT n, CASE WHEN s = 'bad' THEN NULL ELSE lower(s)::mood END FROM moods
SELECT n, s::mood FROM moods WHERE s IN ('ok', 'sad')
SELECT n, s::mood > 'sad' FROM moods WHERE s <> 'bad' AND s <> 'OK'
SELECT n, coalesce(m, 'sad'), nullif(m, 'ok'), greatest(m, 'ok'), least(m, 'ok', NULL) FROM moods
SELECT n, CASE WHEN n < 3 THEN m ELSE 'happy' END FROM moods
SELECT a.n, b.n FROM moods AS a JOIN moods AS b ON a.m = b.m AND a.n < b.n
SELECT a.n, b.n FROM moods AS a JOIN moods AS b ON a.m < b.m
SELECT n FROM moods WHERE m = (SELECT max(m) FROM moods)
SELECT n FROM moods WHERE m > ALL (SELECT m FROM moods WHERE n = 3)
SELECT n, m FROM moods WHERE m::text IN (SELECT s FROM moods)
SELECT m FROM moods UNION SELECT 'sad' ORDER BY 1
SELECT m FROM moods EXCEPT SELECT 'sad'
SELECT n, rank() OVER (ORDER BY m), row_number() OVER (ORDER BY m, n), lag(m) OVER (ORDER BY n) FROM moods
SELECT n, max(m) OVER (PARTITION BY s), first_value(m) OVER (ORDER BY m, n) FROM moods
SELECT n, max(m) OVER (ORDER BY n) FROM moods
SELECT m, n FROM moods ORDER BY m DESC, n LIMIT 3
SELECT array_agg(m ORDER BY m, n), array_agg(DISTINCT m ORDER BY m DESC), string_agg(m::text, ',' ORDER BY m, n) FROM moods
SELECT n, ARRAY[m, 'ok'], ARRAY[m] > ARRAY['ok'::mood], 'ok' = ANY (ARRAY[m, 'sad']), m < ANY ('{ok,happy}') FROM moods
SELECT n, ARRAY[m, 'ok'] FROM moods ORDER BY ARRAY[m, 'ok'], n
SELECT min(ARRAY[m, 'ok']), max(ARRAY[m]) FROM moods
SELECT n, (ARRAY['happy', m])[2], array_length(ARRAY[m], 1), array_position(ARRAY['sad', 'ok']::mood[], m) FROM moods
SELECT n, ARRAY[m]::text[], ARRAY['ok', s]::text[] FROM moods
SELECT n, ARRAY[s]::mood[] FROM moods WHERE s IN ('ok', 'sad')
SELECT unnest('{ok,sad}'::mood[]), unnest(enum_range(NULL::mood))
SELECT x FROM unnest(enum_range('ok', NULL::mood)) AS x ORDER BY x DESC
SELECT enum_first(NULL::mood), enum_last('ok'::mood), enum_range('ok'::mood, 'happy'), enum_range(NULL, 'ok'::mood), enum_range('happy'::mood, 'ok'), enum_first(m) FROM moods
SELECT n FROM moods ORDER BY (m, n)
SELECT n, (m, n) < ('happy', 3), ROW(m, 1) = ROW('ok'::mood, 1) FROM moods
SELECT n, to_jsonb(m), jsonb_build_object('m', m, 'l', ARRAY[m, 'ok']) FROM moods
SELECT jsonb_agg(m ORDER BY m, n) FROM moods
SELECT mode() WITHIN GROUP (ORDER BY m), percentile_disc(0.5) WITHIN GROUP (ORDER BY m) FROM moods
SELECT 'ok'::mood, CAST('a b' AS mood), NULL::mood, 'happy'::mood > 'a b', '{ok,NULL,"a b"}'::mood[], 'ok'::mood::text::mood

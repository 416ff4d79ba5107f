SELECT n, i, c, m FROM hosts
SELECT n, i::text, c::text, m::text, i::varchar(9), c::char(30) || '.' FROM hosts
SELECT n, s::inet FROM hosts
SELECT n, i::cidr, c::inet FROM hosts
SELECT n, i FROM hosts ORDER BY i, n
SELECT n, c FROM hosts ORDER BY c DESC NULLS LAST, n
SELECT n, m FROM hosts ORDER BY m, n
SELECT n, i FROM hosts WHERE i IS NOT NULL ORDER BY i DESC, n LIMIT 3
SELECT i, count(*), array_agg(n ORDER BY n) FROM hosts GROUP BY i ORDER BY i
SELECT DISTINCT i FROM hosts
SELECT count(DISTINCT i), count(i), count(DISTINCT m), min(i), max(i), min(c), max(c) FROM hosts
SELECT m, min(i), max(c) FROM hosts GROUP BY m ORDER BY m
SELECT a.n, b.n FROM hosts a JOIN hosts b ON a.i = b.i
SELECT a.n, b.n FROM hosts a JOIN hosts b ON a.i <<= b.c
SELECT a.n, b.n FROM hosts a JOIN hosts b ON a.i = b.c
SELECT a.n, b.n, a.i = b.i, a.i <> b.i, a.i < b.i, a.i <= b.i, a.i > b.i, a.i >= b.i FROM hosts a, hosts b
SELECT a.n, b.n, a.i = b.c, a.i <> b.c, a.c < b.c, a.c <= b.i, a.c > b.c, a.c >= b.c FROM hosts a, hosts b
SELECT a.n, b.n, a.m = b.m, a.m <> b.m, a.m < b.m, a.m <= b.m, a.m > b.m, a.m >= b.m FROM hosts a, hosts b
SELECT a.n, b.n, a.i << b.c, a.i <<= b.c, a.c >> b.i, a.c >>= b.i, a.i && b.i, a.c && b.c FROM hosts a, hosts b
SELECT a.n, b.n, inet_same_family(a.i, b.c) FROM hosts a, hosts b
SELECT a.n, b.n, inet_merge(a.i, b.c), a.i & b.i, a.i | b.i FROM hosts a, hosts b WHERE family(a.i) = family(b.i) AND family(a.i) = family(b.c)
SELECT a.n, b.n, a.i - b.i FROM hosts a, hosts b WHERE family(a.i) = 4 AND family(b.i) = 4
SELECT n, broadcast(i), family(i), host(i), hostmask(i), masklen(i), netmask(i), network(i), ~ i FROM hosts
SELECT n, broadcast(c), family(c), host(c), hostmask(c), masklen(c), netmask(c), network(c), ~ c FROM hosts
SELECT n, abbrev(i) FROM hosts
SELECT n, abbrev(c) FROM hosts WHERE family(c) = 4
SELECT n, i + k, k + i, i - k FROM hosts WHERE k >= 0 AND n <> 8
SELECT n, set_masklen(i, 8), set_masklen(i, -1), set_masklen(c, 4), set_masklen(i, k % 8 + 1) FROM hosts WHERE k > 0 OR k IS NULL
SELECT n, i = '10.1.2.3/8', '192.168.1/24' >>= i, i <<= '192.168.0.0/16', c = '10/8' FROM hosts
SELECT n, i IN ('::1', '192.168.1.226'), i BETWEEN '10.0.0.0' AND '192.168.1.226', coalesce(i, '1.2.3.4'), nullif(c, '10/8') FROM hosts
SELECT n, concat(i, c, m), format('%s-%s', i, c), i || '!', c || '!', 'm' || m FROM hosts
SELECT n, ARRAY[i, c], ARRAY[i]::text, (ROW(i, c, m))::text FROM hosts
SELECT n, to_jsonb(i), to_jsonb(c), to_jsonb(m), to_jsonb(ARRAY[i]) FROM hosts
SELECT n, CASE WHEN n < 3 THEN i ELSE c END, greatest(i, c), least(i, c, '10.0.0.1') FROM hosts
SELECT n, i FROM hosts UNION SELECT n, c FROM hosts
SELECT array_agg(i ORDER BY i), string_agg(host(i), ',' ORDER BY i) FROM hosts
SELECT n, rank() OVER (ORDER BY i), lag(i) OVER (ORDER BY i, n) FROM hosts
SELECT n, i IS DISTINCT FROM c, i = ANY (ARRAY[c, '::1'::inet]) FROM hosts
SELECT '192.168.1'::cidr, '10'::cidr, '128'::cidr, '224'::cidr, '240'::cidr, '192.168/16'::inet, '010.001.0.1'::inet, '1.2.3.4/08'::inet, '1:2:3:4:5:6:7:8'::inet, '1::'::cidr
SELECT '::1:2:3:4'::inet, '::1:0'::inet, '::2'::inet, '1::0:0:1'::inet, '::ffff:0:0'::inet, '::fffe:1:2'::inet, '1:0:0:2:0:0:0:3'::inet, '1:2:3:4:5:6:7::'::inet
SELECT '00000000010.0.0.1/000000000008'::inet, '0010.0/016'::cidr
SELECT '08:00:2b:01:02:03'::macaddr, '08-00-2b-01-02-03'::macaddr, '08002b:010203'::macaddr, '08002b-010203'::macaddr, '0800.2b01.0203'::macaddr, '0800-2b01-0203'::macaddr, ' 08002B010203 '::macaddr, '8:0:2b:1:2:3'::macaddr
SELECT inet '10.0.0.1' OPERATOR(pg_catalog.<<) cidr '10/8', inet '10.0.0.1' OPERATOR(pg_catalog.&&) cidr '10/8'
SELECT array_to_string(ARRAY[inet '10.0.0.1', '10.0.0.0/8', NULL], ',', 'none')
SELECT array_to_string(ARRAY[true, false, NULL], ','), array_to_string(ARRAY[true, NULL], '|', '?')
SELECT jsonb_build_object(inet '10.0.0.1', inet '1.1.1.1', true, 1), to_jsonb(inet '1.1.1.1')
SELECT jsonb_object_agg(a, 1) FROM (VALUES (inet '1.1.1.1'), ('2.0.0.0/8')) v(a)
SELECT jsonb_object_agg(a, b) FROM (VALUES (timestamp '2020-01-01 10:00', 1), ('2021-01-01', 2)) v(a, b)
SELECT jsonb_object_agg(a, b) FROM (VALUES (timestamptz '2020-01-01 10:00+02', true)) v(a, b)

SELECT a << 30, a << g::int, g << 61, g << a, a::smallint << 14, a::smallint << g::int, -a << 3 FROM t
SELECT -a >> 1, a >> g::int, g >> a, -g >> 70, (-a)::smallint >> 1, (-a)::smallint >> 20, a >> -1, a << -1 FROM t
SELECT 1 << 2 + 3, 7 & 1 << 2, 1 << 2 > 3, -1::bigint << 63, 1::bigint << 64, 1::bigint >> 64, '1' << 2, 1 << '2', NULL << 1 FROM t

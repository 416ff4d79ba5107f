SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a), percentile_disc(0.5) WITHIN GROUP (ORDER BY b) FROM t
SELECT f, percentile_cont(0.9) WITHIN GROUP (ORDER BY d) FILTER (WHERE a > 0) FROM t GROUP BY f
SELECT percentile_disc(0) WITHIN GROUP (ORDER BY g), percentile_disc(0.3) WITHIN GROUP (ORDER BY a) FROM t
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY c), percentile_disc(1) WITHIN GROUP (ORDER BY e) FROM t WHERE a IS NOT NULL
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM nothing
SELECT percentile_cont(ARRAY[0.25, 0.5, 1]) WITHIN GROUP (ORDER BY a), percentile_disc(ARRAY[0, 0.9]::float8[]) WITHIN GROUP (ORDER BY b) FILTER (WHERE a > 0) FROM t
SELECT percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY a), f FROM t WHERE a IS NULL OR a > 1 GROUP BY f
SELECT percentile_cont(ARRAY[0.5, 0.75]) WITHIN GROUP (ORDER BY a) FROM nothing
SELECT mode() WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY b), mode() WITHIN GROUP (ORDER BY g), mode() WITHIN GROUP (ORDER BY e) FROM t
SELECT f, mode() WITHIN GROUP (ORDER BY a) FILTER (WHERE g > 10) FROM t GROUP BY f
SELECT mode() WITHIN GROUP (ORDER BY a) FROM nothing
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY a DESC), percentile_disc(0.3) WITHIN GROUP (ORDER BY b DESC), percentile_disc(0) WITHIN GROUP (ORDER BY g DESC) FROM t
SELECT f, percentile_cont(0.9) WITHIN GROUP (ORDER BY c DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY e DESC) FILTER (WHERE a > 1) FROM t GROUP BY f
SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY x DESC), percentile_disc(0.9) WITHIN GROUP (ORDER BY x DESC NULLS LAST) FROM (VALUES (1.5::float8), ('NaN'), (-2), (NULL), (7)) AS v (x)
SELECT percentile_disc(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY a DESC), percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY g DESC) FROM t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY b DESC), mode() WITHIN GROUP (ORDER BY a DESC) FROM nothing
SELECT mode() WITHIN GROUP (ORDER BY x DESC), mode() WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x DESC) FILTER (WHERE x < 3) FROM (VALUES (1), (2), (2), (3), (3), (1), (NULL), (NULL), (NULL)) AS v (x)
SELECT rank(2) WITHIN GROUP (ORDER BY a), dense_rank(3) WITHIN GROUP (ORDER BY a), percent_rank(3) WITHIN GROUP (ORDER BY a), cume_dist(2) WITHIN GROUP (ORDER BY a) FROM t
SELECT rank(2) WITHIN GROUP (ORDER BY a DESC), dense_rank(2) WITHIN GROUP (ORDER BY a DESC), percent_rank(2) WITHIN GROUP (ORDER BY a DESC), cume_dist(2) WITHIN GROUP (ORDER BY a DESC NULLS LAST) FROM t
SELECT f, rank('one', 2) WITHIN GROUP (ORDER BY b, a DESC), dense_rank('two', 0) WITHIN GROUP (ORDER BY b, a), cume_dist('two', 2) WITHIN GROUP (ORDER BY b, a) FROM t GROUP BY f
SELECT rank(NULL::int) WITHIN GROUP (ORDER BY a), dense_rank(NULL::int) WITHIN GROUP (ORDER BY a DESC), rank(NULL::int) WITHIN GROUP (ORDER BY a NULLS FIRST), cume_dist(NULL::int) WITHIN GROUP (ORDER BY a) FROM t
SELECT rank(1) WITHIN GROUP (ORDER BY a), percent_rank(1) WITHIN GROUP (ORDER BY a), cume_dist(1) WITHIN GROUP (ORDER BY a) FROM nothing
SELECT rank(25) WITHIN GROUP (ORDER BY g) FILTER (WHERE f), percent_rank(25) WITHIN GROUP (ORDER BY g) FILTER (WHERE a > 1), dense_rank(2.5) WITHIN GROUP (ORDER BY a) FROM t
SELECT percentile_cont(1 - 0.05) WITHIN GROUP (ORDER BY a), percentile_disc((50 + 45) / 100.0) WITHIN GROUP (ORDER BY a DESC), percentile_cont(1 / 2) WITHIN GROUP (ORDER BY a) FROM t
SELECT percentile_cont(ARRAY[0.25, 1 - 0.25, 0.5 * 0.5]) WITHIN GROUP (ORDER BY a) FROM t
SELECT mode() WITHIN GROUP (ORDER BY f), mode() WITHIN GROUP (ORDER BY f DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY f), percentile_disc(0.9) WITHIN GROUP (ORDER BY f DESC) FROM t
SELECT b, mode() WITHIN GROUP (ORDER BY f) AS m, percentile_disc(ARRAY[0, 1]) WITHIN GROUP (ORDER BY a > 1) FROM t GROUP BY b

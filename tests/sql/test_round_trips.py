"""Every statement parses to a node of its own and prints to text that parses to an equal node:
nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlglot import exp

from reclock.errors import SqlSyntaxError
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse, parse_one

STATEMENTS: dict[str, str] = {
    (
        "CREATE SOURCE s (a int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON"
    ): "CreateSourceStatement",
    (
        "CREATE SOURCE s FROM S3 DISCOVER OBJECTS MATCHING 'a/**' USING BUCKET SCAN 'b' "
        "FORMAT PARQUET"
    ): "CreateSourceStatement",
    """CREATE SOURCE IF NOT EXISTS d.s.x (year int NOT NULL, "Dep Time" timestamp, p numeric(10,2), q double precision NULL)
       FROM S3 DISCOVER OBJECTS MATCHING 'flights/**.csv' USING BUCKET SCAN 'nyc'
       FORMAT CSV WITH HEADER DELIMITED BY ';' NULL AS 'NA' EXPOSE PROGRESS AS x_p WITH (a = '2020', b = 3, c = true)""": (
        "CreateSourceStatement"
    ),
    """create materialized source s in cluster default (x real) from s3 discover objects using bucket scan 'b'
       format csv with 3 columns""": "CreateSourceStatement",
    (
        "CREATE SOURCE s (a int CHECK (a > 0) NOT NULL CHECK (a < 9), b text CONSTRAINT c CHECK (b <> ''), "
        '"check" int NULL, CHECK (a > b), CONSTRAINT d CHECK (length(b) > a) NOT ENFORCED) '
        "FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON"
    ): "CreateSourceStatement",
    "CREATE SOURCE c FROM LOAD GENERATOR COUNTER": "CreateSourceStatement",
    (
        "CREATE SOURCE c FROM LOAD GENERATOR COUNTER (MAX CARDINALITY 5, TICK INTERVAL '1s')"
    ): "CreateSourceStatement",
    (
        "CREATE SOURCE a FROM LOAD GENERATOR AUCTION FOR ALL TABLES EXPOSE PROGRESS AS p"
    ): "CreateSourceStatement",
    (
        "CREATE SOURCE a FROM LOAD GENERATOR AUCTION FOR TABLES (users, bids AS d.s.offers)"
    ): "CreateSourceStatement",
    "CREATE SUBSOURCE d.s.offers FROM SOURCE d.s.a TABLE 'bids'": "CreateSubsourceStatement",
    "CREATE SOURCE k (a int) FROM KAFKA BROKER 'x:1' TOPIC 'y' FORMAT JSON": "CreateSourceStatement",
    """CREATE SOURCE k FROM KAFKA BROKER 'x:1' TOPIC 'y' START OFFSET (0, 10) GROUP ID 'g' KEY FORMAT TEXT VALUE FORMAT BYTES
       INCLUDE KEY AS id, PARTITION, OFFSET AS o, TIMESTAMP, HEADERS ENVELOPE UPSERT""": "CreateSourceStatement",
    (
        "CREATE SOURCE k FROM KAFKA BROKER 'x:1' TOPIC 'y' START TIMESTAMP 1000 FORMAT TEXT "
        "ENVELOPE NONE"
    ): "CreateSourceStatement",
    "CREATE SECRET IF NOT EXISTS d.s.x AS 'y'": "CreateSecretStatement",
    "CREATE SECRET x STORED AS 'y'": "CreateSecretStatement",
    (
        "CREATE SOURCE k FROM KAFKA BROKER 'x:1' TOPIC 'y' START OFFSET (1) END OFFSET (5, "
        "6) FORMAT TEXT"
    ): "CreateSourceStatement",
    (
        "CREATE SOURCE k FROM KAFKA CONNECTION c (TOPIC 'y', START TIMESTAMP 1, END "
        "TIMESTAMP 2) FORMAT TEXT"
    ): ("CreateSourceStatement"),
    (
        "CREATE SOURCE k FROM KAFKA CONNECTION c (TRANSACTION TOPIC 'y') FORMAT JSON "
        "ENVELOPE DEBEZIUM FOR TABLES (p.t (a INT))"
    ): ("CreateSourceStatement"),
    (
        "CREATE SOURCE k FROM KAFKA BROKER 'b' TOPIC 'y' FORMAT AVRO USING CONFLUENT SCHEMA "
        "REGISTRY CONNECTION r"
    ): ("CreateSourceStatement"),
    """CREATE SOURCE k FROM KAFKA BROKER 'b' TOPIC 'y' KEY FORMAT PROTOBUF USING CONFLUENT SCHEMA REGISTRY CONNECTION r
       VALUE FORMAT PROTOBUF MESSAGE 'm' USING CONFLUENT SCHEMA REGISTRY CONNECTION r SEED SCHEMA '\\x00'""": (
        "CreateSourceStatement"
    ),
    (
        "CREATE SOURCE k FROM KAFKA BROKER 'b' TOPIC 'y' FORMAT PROTOBUF MESSAGE 'm' USING "
        "SCHEMA '\\x00'"
    ): "CreateSourceStatement",
    "ALTER SECRET s.x AS $$y$$": "AlterSecretStatement",
    "ALTER SECRET IF EXISTS s.x RENAME TO y": "AlterRenameStatement",
    (
        "CREATE CONNECTION IF NOT EXISTS c TO KAFKA (BROKERS ('x:1', 'y:1'), PASSWORD SECRET "
        "s) WITH (validate = false)"
    ): ("CreateConnectionStatement"),
    (
        "CREATE CONNECTION s.c TO CONFLUENT SCHEMA REGISTRY (URL = 'http://x')"
    ): "CreateConnectionStatement",
    "CREATE CONNECTION c TO AWS (ACCESS KEY ID 'x', REGION 'eu')": "CreateConnectionStatement",
    (
        "ALTER CONNECTION IF EXISTS s.c SET (BROKER 'b:1', PASSWORD SECRET s), RESET (SSL KEY, "
        "USERNAME) WITH (validate = false)"
    ): "AlterConnectionStatement",
    "CREATE TABLE t (a int, CONSTRAINT i UNIQUE NULLS NOT DISTINCT (a) AS INDEX)": (
        "CreateTableStatement"
    ),
    "VALIDATE CONNECTION s.c": "ValidateConnectionStatement",
    "SHOW CREATE CONNECTION c": "ShowCreateStatement",
    "DROP CONNECTION IF EXISTS c, d CASCADE": "DropStatement",
    (
        "CREATE SOURCE k FROM KAFKA CONNECTION c (TOPIC 'y', START OFFSET (0, 1)) FORMAT TEXT"
    ): "CreateSourceStatement",
    (
        "CREATE SOURCE p FROM POSTGRES CONNECTION c (PUBLICATION 'p', SLOT 's') FOR ALL TABLES"
    ): "CreateSourceStatement",
    "CREATE SOURCE p FROM POSTGRES CONNECTION c (PUBLICATION 'p', TEXT COLUMNS (t.a, "
    "s.t.b), EXCLUDE COLUMNS (t.c))"
    " FOR ALL TABLES": "CreateSourceStatement",
    (
        "CREATE SOURCE p FROM POSTGRES CONNECTION 'dbname=x' PUBLICATION 'p' TEXT COLUMNS "
        "(t.a) FOR TABLES (t)"
    ): ("CreateSourceStatement"),
    """CREATE SOURCE k FROM KINESIS ARN 'a' ENDPOINT 'http://x' START AFTER SEQUENCE NUMBER (0 = 12345678901234567890123, 3 = 4)
       FORMAT TEXT""": "CreateSourceStatement",
    (
        "CREATE SOURCE p FROM PUBNUB SUBSCRIBE KEY 'sub-c-1' CHANNEL 'c' ORIGIN 'http://x'"
    ): "CreateSourceStatement",
    (
        "CREATE SOURCE k FROM KINESIS (STREAM 's', REGION 'r') START TIMESTAMP 5 FORMAT BYTES"
    ): "CreateSourceStatement",
    "CREATE SOURCE k FROM KINESIS CONNECTION a.b (STREAM 's') FORMAT BYTES": "CreateSourceStatement",
    (
        "CREATE SOURCE k FROM KINESIS CONNECTION c ARN 'a' START LATEST FORMAT BYTES"
    ): "CreateSourceStatement",
    """CREATE SOURCE s FROM S3 CONNECTION c DISCOVER OBJECTS MATCHING '*' USING SQS NOTIFICATIONS 'q', BUCKET SCAN 'b'
       COMPRESSION GZIP FORMAT TEXT""": "CreateSourceStatement",
    "UNLISTEN *": "UnlistenStatement",
    "VACUUM": "MaintenanceStatement",
    "VACUUM FULL VERBOSE ANALYZE s.t (a, b), u": "MaintenanceStatement",
    "ANALYZE (VERBOSE OFF, BUFFER_USAGE_LIMIT '1 MB') t": "MaintenanceStatement",
    'CREATE EXTENSION "uuid-ossp"': "CreateExtensionStatement",
    "COMMENT ON EXTENSION a IS 'b'": "CommentOnExtensionStatement",
    'DROP EXTENSION IF EXISTS a, "uuid-ossp" CASCADE': "DropExtensionsStatement",
    "DROP TRIGGER IF EXISTS x ON s.t CASCADE": "DropTablePartStatement",
    "ALTER TABLE t SET (fillfactor = 70), ALTER c SET STORAGE MAIN, REPLICA IDENTITY FULL": "AlterTableStatement",
    "UNLISTEN channel": "UnlistenStatement",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY": "TransactionStatement",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE": "TransactionStatement",
    "CREATE VIEW v AS SELECT 1": "CreateViewStatement",
    "CREATE OR REPLACE VIEW v (a, b) AS SELECT 1, 2": "CreateViewStatement",
    "CREATE OR REPLACE RECURSIVE VIEW s.v (a) AS SELECT 1": "CreateViewStatement",
    (
        "CREATE MATERIALIZED VIEW IF NOT EXISTS v IN CLUSTER other AS WITH x AS (SELECT 1) "
        "SELECT * FROM x"
    ): "CreateViewStatement",
    "CREATE MATERIALIZED VIEW v (a) AS VALUES (1) ORDER BY 1 LIMIT 1": "CreateViewStatement",
    'CREATE INDEX i IN CLUSTER c ON s.v (a, "B")': "CreateIndexStatement",
    "CREATE INDEX i ON s.v USING gin (a) WHERE b IS NULL": "CreateIndexStatement",
    "CREATE UNIQUE INDEX i ON s.t (lower(a), b) NULLS NOT DISTINCT WHERE b > 1": "CreateIndexStatement",
    "CREATE INDEX ON v (a + 1, upper(b), (c), date, v.d)": "CreateIndexStatement",
    "CREATE INDEX ON v (a)": "CreateIndexStatement",
    "CREATE INDEX IN CLUSTER default ON v (a)": "CreateIndexStatement",
    "CREATE DEFAULT INDEX IN CLUSTER c ON v": "CreateIndexStatement",
    "CREATE DEFAULT INDEX ON v": "CreateIndexStatement",
    "CREATE SINK s FROM v INTO DELTA 'x' CONTINUING 'u7' REPLACING 'u9' FROM a.w": "CreateSinkStatement",
    "CREATE SINK s FROM v INTO DELTA 'x' CATALOG CONNECTION a.c": "CreateSinkStatement",
    "CREATE SINK s FROM v INTO DELTA 'x' CATALOG CONNECTION c (NAMESPACE = 'n', TABLE 't')": "CreateSinkStatement",
    "CREATE SINK s FROM v INTO FILES 'x/y' FORMAT CSV WITH (SNAPSHOT = false)": "CreateSinkStatement",
    "ALTER SINK IF EXISTS a.s SET FROM a.v": "AlterSinkStatement",
    (
        "CREATE SINK IF NOT EXISTS s IN CLUSTER c FROM a.v INTO DELTA 'x/y' WITH (SNAPSHOT = true)"
    ): "CreateSinkStatement",
    (
        "CREATE SINK s FROM v INTO KAFKA BROKER 'b:1' TOPIC 't' FORMAT JSON ENVELOPE DEBEZIUM"
    ): "CreateSinkStatement",
    """CREATE SINK s FROM v INTO KAFKA CONNECTION c (TOPIC 't', PROGRESS TOPIC 'p') KEY (a, b) NOT ENFORCED
       FORMAT JSON ENVELOPE UPSERT WITH (SNAPSHOT = false)""": "CreateSinkStatement",
    """CREATE SINK s FROM v INTO KAFKA BROKER 'b' TOPIC 't' KEY (a) HEADERS "H h" FORMAT JSON
       ENVELOPE UPSERT""": "CreateSinkStatement",
    """CREATE SINK s FROM v INTO KAFKA CONNECTION c (TOPIC 't', TOPIC PARTITION COUNT 3, TOPIC REPLICATION FACTOR = 2,
       COMPRESSION TYPE 'zstd') KEY (a) KEY FORMAT TEXT VALUE FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION r
       (AVRO VALUE FULLNAME 'a.b', NULL DEFAULTS) ENVELOPE DEBEZIUM""": "CreateSinkStatement",
    """CREATE SINK s FROM v INTO KAFKA BROKER 'b' TOPIC 't' KEY (a) FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION r
       (AVRO KEY FULLNAME = 'a', NULL DEFAULTS = false) ENVELOPE UPSERT""": "CreateSinkStatement",
    "DROP SINK IF EXISTS a, b CASCADE": "DropStatement",
    "SHOW SINKS FROM s IN CLUSTER c LIKE 'a%'": "ShowObjectsStatement",
    "SHOW CREATE SINK a": "ShowCreateStatement",
    "DROP SOURCE a": "DropStatement",
    "DROP VIEW IF EXISTS a, b.c RESTRICT": "DropStatement",
    "DROP MATERIALIZED VIEW a CASCADE": "DropStatement",
    "DROP INDEX a, b": "DropStatement",
    "REFRESH MATERIALIZED VIEW a.b": "RefreshViewStatement",
    "REFRESH MATERIALIZED VIEW a.b WITH NO DATA": "RefreshViewStatement",
    "CREATE MATERIALIZED VIEW v AS SELECT 1 AS a WITH NO DATA": "CreateViewStatement",
    "CREATE MATERIALIZED VIEW v AS WITH a AS (SELECT 1) SELECT * FROM a WITH DATA": "CreateViewStatement",
    "ALTER SOURCE s RETRY": "AlterSourceRetryStatement",
    "ALTER SOURCE s RESNAPSHOT": "AlterSourceResnapshotStatement",
    "ALTER SOURCE s WAIVE 'no offset twice'": "AlterSourceWaiveStatement",
    "ALTER SOURCE s RESTART 'a/b.csv'": "AlterSourceRestartStatement",
    "ALTER SOURCE s SKIP 'x/y.csv' FROM 3 TO 9": "AlterSourceSkipStatement",
    "ALTER SOURCE s SKIP 'x/y.csv'": "AlterSourceSkipStatement",
    "ALTER SOURCE s SKIP 'x' FROM 3 TO 9, FROM 12 TO 13, 'y', 'z' FROM 0 TO 1": (
        "AlterSourceSkipStatement"
    ),
    (
        "CREATE SOURCE s FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' COMPRESSION GZIP "
        "FORMAT TEXT"
    ): "CreateSourceStatement",
    (
        "CREATE SOURCE s FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.1, TICK INTERVAL '1s') FOR "
        "ALL TABLES"
    ): "CreateSourceStatement",
    "ALTER SOURCE s SET (RETAIN HISTORY FOR '30 days')": "AlterSourceRetainStatement",
    "ALTER SOURCE s RESET (RETAIN HISTORY)": "AlterSourceRetainStatement",
    (
        "CREATE SOURCE s FROM LOAD GENERATOR COUNTER WITH (START = '2026-01-01', RETAIN "
        "HISTORY FOR '1d')"
    ): "CreateSourceStatement",
    'ALTER SOURCE IF EXISTS a.s RENAME TO "T"': "AlterRenameStatement",
    "ALTER TABLE IF EXISTS s.t RENAME TO u": "AlterRenameStatement",
    'ALTER MATERIALIZED VIEW IF EXISTS s.v SET SCHEMA "R"': "AlterSchemaStatement",
    "ALTER FUNCTION f(int) SET SCHEMA s": "AlterSchemaStatement",
    (
        "CREATE TABLE IF NOT EXISTS t (a int NOT NULL DEFAULT 1 + 2, b text DEFAULT 'x' "
        "NULL, c real)"
    ): "CreateTableStatement",
    """CREATE TABLE t (a int PRIMARY KEY, b text UNIQUE NOT ENFORCED, c int CHECK (c > 0) REFERENCES s.u ON DELETE SET NULL,
       CONSTRAINT "X" UNIQUE NULLS NOT DISTINCT (a, c), FOREIGN KEY (a, c) REFERENCES u (a, c) MATCH FULL DEFERRABLE)""": (
        "CreateTableStatement"
    ),
    "CREATE TABLE t (a int, b int NOT NULL GENERATED ALWAYS AS (a * 2 + 1) STORED UNIQUE)": (
        "CreateTableStatement"
    ),
    "ALTER TABLE t ALTER a SET EXPRESSION AS (b + 1), ALTER c DROP EXPRESSION IF EXISTS": (
        "AlterTableStatement"
    ),
    "DROP TABLE IF EXISTS a, b CASCADE": "DropStatement",
    "INSERT INTO t VALUES (1, DEFAULT), (2, 'x') RETURNING *, a + 1 AS b": "InsertStatement",
    "INSERT INTO t AS x (a, b) SELECT 1, c FROM u WHERE c = 'q' RETURNING x.a": "InsertStatement",
    "INSERT INTO t (a) (VALUES (1))": "InsertStatement",
    "INSERT INTO t (SELECT 1)": "InsertStatement",
    "INSERT INTO t WITH c AS (SELECT 1) SELECT * FROM c": "InsertStatement",
    (
        "CREATE VIEW v AS WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT = 7) a (x int, "
        '"Y" numeric(9, 2)) AS (SELECT * FROM b), b (x int, y double precision) AS (TABLE a) '
        "SELECT 1"
    ): "CreateViewStatement",
    "INSERT INTO t DEFAULT VALUES": "InsertStatement",
    """MERGE INTO a.t AS x USING (SELECT 1 AS b) AS s ON x.a = s.b WHEN MATCHED AND x.c > 1
       THEN UPDATE SET a = 1, (b, c) = (2, DEFAULT) WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED BY SOURCE THEN DELETE
       WHEN NOT MATCHED BY TARGET AND s.b = 1 THEN INSERT (a, b) OVERRIDING USER VALUE VALUES (s.b, DEFAULT)
       RETURNING merge_action(), x.*""": "MergeStatement",
    "MERGE INTO t USING u ON true WHEN NOT MATCHED THEN INSERT DEFAULT VALUES": "MergeStatement",
    (
        "UPDATE t AS x SET a = a + 1, b = DEFAULT WHERE a > (SELECT max(a) FROM t) RETURNING x.a"
    ): "UpdateStatement",
    "UPDATE s.t x SET a = 1": "UpdateStatement",
    """UPDATE t SET a.b = 1, "A"."c d"[2].e = 2, (f[3], g) = (4, 5)""": "UpdateStatement",
    """WITH RECURSIVE x (a, b) AS (DELETE FROM t USING u WHERE t.a = u.a RETURNING t.*),
       y AS (INSERT INTO t TABLE x ON CONFLICT DO NOTHING), z AS (SELECT 1 UNION SELECT a FROM x)
       UPDATE t SET a = z.a FROM z WHERE t.b = 1 RETURNING *""": "WithStatement",
    "WITH x AS (UPDATE t SET a = 1 RETURNING a) SELECT a FROM x ORDER BY a LIMIT 1": "WithStatement",
    """WITH x AS (MERGE INTO t USING u ON true WHEN NOT MATCHED THEN INSERT DEFAULT VALUES)
       MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE""": "WithStatement",
    "WITH x AS (SELECT 1) INSERT INTO t TABLE x": "WithStatement",
    "EXPLAIN WITH x AS (SELECT 1) TABLE x": "ExplainStatement",
    "DELETE FROM t": "DeleteStatement",
    "DELETE FROM d.s.t x WHERE x.a IN (1, 2) RETURNING *": "DeleteStatement",
    "TRUNCATE s.a, b": "TruncateStatement",
    "TRUNCATE a RESTART IDENTITY CASCADE": "TruncateStatement",
    "TRUNCATE a CONTINUE IDENTITY": "TruncateStatement",
    "COPY t (a, b) FROM STDIN WITH (FORMAT csv, HEADER, DELIMITER ';', NULL 'NA')": "CopyStatement",
    "COPY (SELECT 1) TO STDOUT CSV HEADER DELIMITER AS '|'": "CopyStatement",
    "COPY t TO STDOUT": "CopyStatement",
    "COPY t TO STDOUT WITH (FORMAT csv, FORCE_QUOTE *)": "CopyStatement",
    "COPY t FROM STDIN CSV FORCE NOT NULL a, b FORCE NULL c": "CopyStatement",
    'COPY t FROM STDIN WITH (FORMAT csv, FORCE_NULL(a, "B"))': "CopyStatement",
    "COPY (SELECT a FROM t AS OF 5) TO STDOUT WITH (FORMAT = csv)": "CopyStatement",
    "COPY t (a) TO 'f' WITH (MAX FILE SIZE = '16MB', FORMAT parquet)": "CopyStatement",
    "COPY (SELECT 1 AS a) TO 's3://b/f' WITH (AWS CONNECTION = d.s.c, FORMAT = 'csv')": "CopyStatement",
    "SELECT * FROM t AS options(expected, b)": "QueryStatement",
    "SHOW TABLES": "ShowObjectsStatement",
    "SELECT name FROM (SHOW TABLES FROM s LIKE 'a%') AS t, (SHOW CREATE VIEW v)": "QueryStatement",
    "SHOW CREATE TABLE s.t": "ShowCreateStatement",
    "SHOW SOURCES": "ShowObjectsStatement",
    "SHOW VIEWS FROM d.s LIKE 'a%'": "ShowObjectsStatement",
    "SHOW MATERIALIZED VIEWS IN s IN CLUSTER c": "ShowObjectsStatement",
    "SHOW INDEXES FROM v IN CLUSTER c WHERE key_name = 'x' AND nullable": "ShowObjectsStatement",
    "SHOW INDEX IN v": "ShowObjectsStatement",
    "SHOW KEYS IN CLUSTER default": "ShowObjectsStatement",
    "SHOW OBJECTS": "ShowObjectsStatement",
    "SHOW DATABASES": "ShowObjectsStatement",
    "SHOW SCHEMAS FROM d": "ShowObjectsStatement",
    "SHOW CLUSTERS WHERE name <> 'x'": "ShowObjectsStatement",
    "SHOW COLUMNS FROM a.b LIKE 'c%'": "ShowColumnsStatement",
    "SHOW CREATE SOURCE s": "ShowCreateStatement",
    "SHOW CREATE MATERIALIZED VIEW s": "ShowCreateStatement",
    "SHOW server_version": "ShowVariableStatement",
    "SELECT JSON_OBJECT('a' VALUE 1 ABSENT ON NULL RETURNING jsonb)": "QueryStatement",
    "SELECT JSON_ARRAY(1, NULL NULL ON NULL), JSON_OBJECT()": "QueryStatement",
    "ALTER TABLE t ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY": "AlterTableStatement",
    "ALTER TABLE t ALTER a SET GENERATED BY DEFAULT, ALTER b DROP IDENTITY IF EXISTS": "AlterTableStatement",
    "SHOW ALL": "ShowVariableStatement",
    "SHOW TRANSACTION ISOLATION LEVEL": "ShowVariableStatement",
    "SET cluster = other": "SetVariableStatement",
    "SET SESSION search_path TO a, \"B\", 'c'": "SetVariableStatement",
    "SET LOCAL x = -3": "SetVariableStatement",
    "SET x TO DEFAULT": "SetVariableStatement",
    "SET TIME ZONE 'UTC'": "SetVariableStatement",
    "SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE": "SetVariableStatement",
    "RESET x": "ResetVariableStatement",
    "SET LOCAL app.x = 1": "SetVariableStatement",
    "RESET app.x": "ResetVariableStatement",
    "SHOW app.x": "ShowVariableStatement",
    "RESET ALL": "ResetVariableStatement",
    "SUBSCRIBE TO a.v WITH (SNAPSHOT = false, PROGRESS) AS OF 5 UP TO 7": "SubscribeStatement",
    'SUBSCRIBE (SELECT 1) ENVELOPE UPSERT (KEY (a, "B")) AS OF AT LEAST 5': "SubscribeStatement",
    "TAIL v WITHIN TIMESTAMP ORDER BY mz_diff DESC, a NULLS FIRST UP TO 7": "SubscribeStatement",
    "EXPLAIN SELECT 1": "ExplainStatement",
    "EXPLAIN (SELECT 1)": "ExplainStatement",
    "EXPLAIN ANALYZE VERBOSE SELECT 1": "ExplainStatement",
    "EXPLAIN (ANALYZE, VERBOSE false, FORMAT JSON) SELECT 1": "ExplainStatement",
    "EXPLAIN (COSTS off, ANALYZE off) DELETE FROM t": "ExplainDefinitionStatement",
    "EXPLAIN PLAN FOR SELECT a FROM t AS OF 5": "ExplainStatement",
    "EXPLAIN TIMESTAMP FOR SELECT a FROM t": "ExplainStatement",
    "EXPLAIN OPTIMIZER TRACE FOR SELECT a FROM t": "ExplainStatement",
    "EXPLAIN DROP VIEW v CASCADE": "ExplainDefinitionStatement",
    "EXPLAIN CREATE TABLE t (a INT)": "ExplainDefinitionStatement",
    "CREATE TABLE t (a INT, LIKE s.u INCLUDING ALL EXCLUDING INDEXES, LIKE v)": "CreateTableStatement",
    'CREATE TABLE t ("like" INT)': "CreateTableStatement",
    "CREATE ROLE r": "CreateRoleStatement",
    'CREATE USER "R x" WITH SUPERUSER INHERIT': "CreateRoleStatement",
    "ALTER ROLE r NOSUPERUSER LOGIN": "AlterRoleStatement",
    "ALTER USER r RENAME TO s": "AlterRoleRenameStatement",
    "ALTER ROLE r SET search_path TO a, 'b'": "SetDefaultStatement",
    "ALTER ROLE r SET x TO DEFAULT": "SetDefaultStatement",
    "ALTER ROLE r RESET ALL": "SetDefaultStatement",
    "ALTER SYSTEM SET x = -3": "SetDefaultStatement",
    "ALTER SYSTEM RESET x": "SetDefaultStatement",
    "DROP ROLE IF EXISTS a, b": "DropRolesStatement",
    "ALTER MATERIALIZED VIEW a.b.c OWNER TO r": "AlterOwnerStatement",
    "CREATE CLUSTER c": "CreateClusterStatement",
    "CREATE CLUSTER c WITH (SIZE = '2', VIRTUAL)": "CreateClusterStatement",
    "CREATE CLUSTER \"replica\" SIZE 'a b', SIZE '2'": "CreateClusterStatement",
    "ALTER CLUSTER default": "AlterClusterStatement",
    "ALTER CLUSTER c SET (SIZE '2')": "AlterClusterStatement",
    "ALTER CLUSTER c VIRTUAL": "AlterClusterStatement",
    'ALTER CLUSTER default RENAME TO "X y"': "RenameClusterStatement",
    'ALTER CLUSTER default SWAP WITH "X y"': "SwapClustersStatement",
    'DROP CLUSTER IF EXISTS default, "B" CASCADE': "DropClustersStatement",
    "CREATE CLUSTER REPLICA default.r1 SIZE '2'": "CreateClusterReplicaStatement",
    'DROP CLUSTER REPLICA IF EXISTS c.r1, "C"."R"': "DropClusterReplicasStatement",
    "SHOW CLUSTER REPLICAS LIKE 'r%'": "ShowObjectsStatement",
    "SHOW CREATE CLUSTER reports": "ShowCreateStatement",
    "SHOW CLUSTER": "ShowVariableStatement",
    "ALTER CLUSTER default OWNER TO current_user": "AlterOwnerStatement",
    "ALTER SCHEMA d.s OWNER TO r": "AlterOwnerStatement",
    "REASSIGN OWNED BY a, b TO c": "ReassignOwnedStatement",
    "DROP OWNED BY a, current_user CASCADE": "DropOwnedStatement",
    "GRANT SELECT, insert ON s TO r, PUBLIC": "PrivilegesStatement",
    "GRANT ALL PRIVILEGES ON TABLE a.b, c TO GROUP r": "PrivilegesStatement",
    "GRANT SELECT ON cluster TO r": "PrivilegesStatement",
    "REVOKE ALL ON ALL TABLES IN SCHEMA s, d.t FROM r": "PrivilegesStatement",
    "GRANT USAGE, CREATE ON CLUSTER default TO r": "PrivilegesStatement",
    "REVOKE CREATE ON DATABASE d FROM PUBLIC": "PrivilegesStatement",
    "GRANT CREATEROLE, CREATEDB, CREATECLUSTER ON SYSTEM TO r": "PrivilegesStatement",
    'GRANT a, "B" TO c': "MembershipStatement",
    "REVOKE a FROM b, c": "MembershipStatement",
    (
        "ALTER DEFAULT PRIVILEGES FOR ROLE a, b IN SCHEMA s, t GRANT SELECT ON TABLES TO c"
    ): "DefaultPrivilegesStatement",
    (
        "ALTER DEFAULT PRIVILEGES FOR ALL ROLES REVOKE ALL ON CLUSTERS FROM PUBLIC"
    ): "DefaultPrivilegesStatement",
    (
        "ALTER DEFAULT PRIVILEGES IN DATABASE d GRANT CREATE ON SCHEMAS TO b"
    ): "DefaultPrivilegesStatement",
    "SHOW ROLES LIKE 'a%'": "ShowObjectsStatement",
    "SHOW PRIVILEGES ON TABLES FOR r WHERE name = 'x'": "ShowPrivilegesStatement",
    "SHOW DEFAULT PRIVILEGES FOR r": "ShowPrivilegesStatement",
    "SET ROLE NONE": "SetVariableStatement",
    "SET LOCAL ROLE r": "SetVariableStatement",
    "RESET ROLE": "ResetVariableStatement",
    "BEGIN": "TransactionStatement",
    "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY": "TransactionStatement",
    "START TRANSACTION READ WRITE": "TransactionStatement",
    "COMMIT WORK": "TransactionStatement",
    "ROLLBACK": "TransactionStatement",
    "TABLE t": "QueryStatement",
    "VALUES (1, 'a'), (2, NULL) ORDER BY 1 LIMIT 1": "QueryStatement",
    "SELECT a AS of FROM t AS of": "QueryStatement",
    "SELECT a FROM t WHERE a > 1 AS OF 5": "QueryStatement",
    "SELECT a FROM t AS OF AT LEAST '2013-01-01 00:00:00+01'": "QueryStatement",
    ("SELECT a FROM t JOIN u USING (a) ORDER BY a AS OF TIMESTAMP '2013-01-01'"): "QueryStatement",
    "SELECT 1 AS OF (1 + 1)": "QueryStatement",
    "(SELECT 1) UNION ALL (SELECT 2 LIMIT 1) LIMIT 3 OFFSET 1": "QueryStatement",
    ("SELECT 1 UNION SELECT 2 INTERSECT ALL SELECT 3 EXCEPT SELECT 4 ORDER BY 1"): "QueryStatement",
    (
        "SELECT count(*), count(DISTINCT a) FILTER (WHERE b > 1) FROM t GROUP BY 1, b HAVING "
        "count(*) > 1"
    ): "QueryStatement",
    (
        "SELECT DISTINCT ON (a, b) a, b FROM t ORDER BY a, b DESC NULLS LAST, c NULLS FIRST"
    ): "QueryStatement",
    (
        "SELECT extract(year from d), substring(a from 2 for 3), trim(leading 'x' from y), "
        "position('a' in b), d::date FROM t"
    ): ("QueryStatement"),
    (
        "SELECT x NOT IN (SELECT y FROM t), EXISTS (SELECT 1), x IS NOT DISTINCT FROM y, x "
        "IS NOT TRUE, x = ANY (SELECT 1)"
    ): ("QueryStatement"),
    (
        "SELECT x NOT LIKE 'a' ESCAPE 'b', NOT a = b, -2 ^ 2, a || b || 'c', $$it's$$, "
        "E'a\\nb', INTERVAL '1 day', 1e10, .5"
    ): ("QueryStatement"),
    (
        "SELECT * FROM a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x, d NATURAL JOIN e CROSS JOIN f"
    ): "QueryStatement",
    "SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x": "QueryStatement",
    (
        "SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END, CASE WHEN a THEN b END FROM (VALUES (1, "
        "2)) AS t (a, b)"
    ): "QueryStatement",
    (
        'WITH a (x) AS (SELECT 1), b AS (SELECT x FROM a) SELECT "x" FROM b -- the end'
    ): "QueryStatement",
    (
        "CREATE SEQUENCE IF NOT EXISTS s AS SMALLINT INCREMENT BY -2 NO MINVALUE MAXVALUE 9 "
        "START WITH 7 CACHE 1 CYCLE OWNED BY t.a"
    ): "CreateSequenceStatement",
    "CREATE SEQUENCE s": "CreateSequenceStatement",
    "ALTER SEQUENCE IF EXISTS s RESTART WITH 5 NO CYCLE OWNED BY NONE": "AlterSequenceStatement",
    "ALTER SEQUENCE s RESTART": "AlterSequenceStatement",
    "CREATE TABLE IF NOT EXISTS t (a, b) AS SELECT 1, 2 WITH NO DATA": "CreateTableAsStatement",
    (
        "CREATE DOMAIN d AS INT DEFAULT 1 NOT NULL CONSTRAINT c CHECK (VALUE > 0)"
    ): "CreateDomainStatement",
    "ALTER DOMAIN d SET DEFAULT 2": "AlterDomainStatement",
    "ALTER DOMAIN d DROP CONSTRAINT IF EXISTS c CASCADE": "AlterDomainStatement",
    "ALTER DOMAIN d RENAME CONSTRAINT a TO b": "AlterDomainStatement",
    "CREATE TYPE mood AS ENUM ('sad', 'ok')": "CreateTypeStatement",
    "CREATE TYPE pairs AS (a INT, b mood[], c DECIMAL(5, 2))": "CreateCompositeStatement",
    "CREATE TYPE lists AS LIST (ELEMENT TYPE = INT LIST)": "CreateListStatement",
    "CREATE TYPE maps AS MAP (VALUE TYPE = lists, KEY TYPE = TEXT)": "CreateMapStatement",
    "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'happy' AFTER 'ok'": "AddValueStatement",
    "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'": "RenameValueStatement",
    "PREPARE p (INT, TEXT) AS SELECT $1, $2": "PrepareStatement",
    "EXECUTE p (1, 'a')": "ExecuteStatement",
    "EXECUTE p": "ExecuteStatement",
    "DEALLOCATE p": "DeallocateStatement",
    "DEALLOCATE ALL": "DeallocateStatement",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1": "DeclareStatement",
    "FETCH 3 FROM c": "FetchStatement",
    "FETCH ALL FROM c WITH (TIMEOUT = '1s')": "FetchStatement",
    "CLOSE c": "CloseStatement",
    "CLOSE ALL": "CloseStatement",
    "DISCARD ALL": "DiscardStatement",
    "COMMENT ON COLUMN t.a IS 'x'": "CommentStatement",
    "COMMENT ON MATERIALIZED VIEW v IS NULL": "CommentStatement",
    "COMMENT ON CONSTRAINT c ON t IS 'x'": "ConstraintCommentStatement",
    "COMMENT ON CONSTRAINT c ON DOMAIN d IS NULL": "ConstraintCommentStatement",
    "CREATE TABLE t (a INT, CONSTRAINT c CHECK (a > 0) COMMENT 'it''s x')": "CreateTableStatement",
    (
        "CREATE OR REPLACE FUNCTION f(a INT, b TEXT DEFAULT 'x') RETURNS TABLE (c INT) "
        "LANGUAGE SQL STABLE STRICT BEGIN ATOMIC SELECT a; END"
    ): "CreateFunctionStatement",
    "CREATE FUNCTION f(INT) RETURNS SETOF INT LANGUAGE SQL RETURN $1": "CreateFunctionStatement",
    "CREATE DATABASE IF NOT EXISTS d": "CreateDatabaseStatement",
    "ALTER DATABASE d RENAME TO e": "RenameDatabaseStatement",
    "DROP DATABASE IF EXISTS d RESTRICT": "DropDatabaseStatement",
    "CREATE SCHEMA IF NOT EXISTS d.s": "CreateSchemaStatement",
    "ALTER SCHEMA s RENAME TO z": "RenameSchemaStatement",
    "ALTER SCHEMA d.s SWAP WITH z": "SwapSchemasStatement",
    "DROP SCHEMA IF EXISTS a, b CASCADE": "DropSchemasStatement",
    "SET CONSTRAINTS ALL DEFERRED": "SetConstraintsStatement",
    "SET CONSTRAINTS a, s.b IMMEDIATE": "SetConstraintsStatement",
}
"""By statement, the name of its class."""


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_prints_to_text_that_parses_to_itself(text: str) -> None:
    node = parse_one(text)
    assert type(node).__name__ == STATEMENTS[text]
    printed = to_sql(node)
    assert parse_one(printed) == node, printed
    assert to_sql(parse_one(printed)) == printed


def test_no_statement_is_left_out() -> None:
    def subclasses(kind: type[nodes.Statement]) -> Iterator[str]:
        for subclass in kind.__subclasses__():
            yield subclass.__name__
            yield from subclasses(subclass)

    assert set(subclasses(nodes.Statement)) == set(STATEMENTS.values())


@pytest.mark.parametrize("text", STATEMENTS)
def test_no_part_of_a_statement_is_a_command_that_was_not_parsed(text: str) -> None:
    assert not list(parse_one(text).find_all(exp.Command))


def test_several_statements_are_told_apart_with_their_text_and_place() -> None:
    text = "SELECT 1;\n ;; -- nothing\n SHOW SOURCES ;SELECT ';' "
    parsed = parse(text)
    assert [(statement.text, statement.position) for statement in parsed] == [
        ("SELECT 1", 1),
        ("SHOW SOURCES", text.index("SHOW") + 1),
        ("SELECT ';'", text.index("SELECT ';'") + 1),
    ]
    assert parse("") == parse("; /* nothing */ ;") == []


def test_hints_of_how_large_groups_are_change_no_query() -> None:
    hinted = (
        "SELECT DISTINCT ON (a) a, sum(b) AS s FROM (SELECT * FROM t OPTIONS (LIMIT INPUT GROUP "
        "SIZE = 5) LIMIT 9) AS x GROUP BY a HAVING sum(b) > 1 OPTIONS (AGGREGATE INPUT GROUP SIZE "
        "= 1000, DISTINCT ON INPUT GROUP SIZE 20, EXPECTED GROUP SIZE = 3) ORDER BY a LIMIT 3"
    )
    plain = (
        "SELECT DISTINCT ON (a) a, sum(b) AS s FROM (SELECT * FROM t LIMIT 9) AS x GROUP BY a "
        "HAVING sum(b) > 1 ORDER BY a LIMIT 3"
    )
    assert to_sql(parse_one(hinted)) == plain
    for size in ("0.1", "'many'", ""):
        with pytest.raises(SqlSyntaxError):
            parse_one(f"SELECT a FROM t GROUP BY a OPTIONS (EXPECTED GROUP SIZE = {size})")

"""Definitions as dumps of PostgreSQL's databases write them: its answers."""

from __future__ import annotations

from fixtures.postgres import PostgresServer
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

SCRIPT = """
CREATE SEQUENCE public.t_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;
CREATE TABLE public.t (id integer DEFAULT nextval('public.t_id_seq'::regclass) NOT NULL, a text)
    WITH (fillfactor='50', autovacuum_enabled=false, toast.autovacuum_enabled=off);
ALTER SEQUENCE public.t_id_seq OWNED BY public.t.id;
CREATE TABLE public.u (id integer NOT NULL, t_id integer) WITHOUT OIDS;
CREATE UNLOGGED TABLE public.w (a integer) WITH (oids = false);
CREATE TABLE wrong (a integer) WITH (oids = true);
CREATE TABLE wrong (a integer) WITH (nonsense = 1);
ALTER TABLE ONLY public.t ALTER COLUMN a SET DEFAULT N'it''s '::text;
ALTER TABLE ONLY public.t ADD CONSTRAINT t_pkey PRIMARY KEY (id);
ALTER TABLE IF EXISTS ONLY public.u ADD CONSTRAINT u_t_fkey FOREIGN KEY (t_id) REFERENCES public.t(id);
ALTER TABLE ONLY public.u RENAME CONSTRAINT u_t_fkey TO fk;
ALTER TABLE ONLY public.nothing ADD CONSTRAINT c CHECK (true);
CREATE INDEX by_a ON ONLY public.t USING btree (a) WITH (fillfactor=70);
INSERT INTO t DEFAULT VALUES RETURNING id;
INSERT INTO t (a) VALUES (N'b'), (N'c ') RETURNING id, length(a);
INSERT INTO u VALUES (1, 1), (2, 7);
INSERT INTO u VALUES (1, 1), (2, 2);
SELECT t.a, u.id FROM ONLY t JOIN ONLY public.u ON t_id = t.id ORDER BY u.id;
CREATE VIEW v AS SELECT x.a FROM ONLY t AS x WHERE x.id > 1;
UPDATE ONLY t AS x SET a = 'z' WHERE x.id = 3;
DELETE FROM ONLY u WHERE id = 2;
DELETE FROM u * WHERE id = 3;
SELECT a FROM v ORDER BY a;
TRUNCATE TABLE ONLY u;
CREATE ROLE dumped_owner;
CREATE SEQUENCE lone;
ALTER TABLE public.lone OWNER TO dumped_owner;
ALTER TABLE public.w OWNER TO dumped_owner;
ALTER TABLE public.v OWNER TO dumped_owner;
SELECT relname, rolname FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner WHERE relname IN ('v', 'w') ORDER BY 1;
DROP OWNED BY dumped_owner;
DROP ROLE dumped_owner;
SELECT count(*) FROM u *;
CREATE TABLE "only" (a int);
INSERT INTO "only" VALUES (1);
DELETE FROM "only" RETURNING a;
SELECT N'a' = 'a', N'b ' || 'c', upper(N'x');
"""


def test_answers_are_those_of_postgresql(
    environment: Environment, postgres_server: PostgresServer
) -> None:
    assert_same_rows(Session(environment), postgres_server, SCRIPT)

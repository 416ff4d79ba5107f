"""Foreign keys are enforced, acted on, deferred and shown as in PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

REFUSED = """
    CREATE TABLE owners (id int PRIMARY KEY, email text UNIQUE, country char(2), number int, UNIQUE (number, country));
    CREATE TABLE pets (id int PRIMARY KEY, owner int REFERENCES owners, mail text REFERENCES owners (email),
        country char(2), number int, CONSTRAINT lives FOREIGN KEY (country, number) REFERENCES owners (country, number));
    INSERT INTO pets VALUES (1, 1);
    INSERT INTO owners VALUES (1, 'ada', 'uk', 7), (2, 'bob', 'fr', 8), (3, NULL, NULL, NULL);
    INSERT INTO pets VALUES (1, 1), (2, NULL), (3, 9), (4, 8);
    INSERT INTO pets VALUES (1, 1, 'ada', 'uk', 7), (2, NULL, NULL, 'xx', NULL);
    INSERT INTO pets VALUES (3, 2, 'eve', NULL, NULL);
    INSERT INTO pets VALUES (3, 2, 'bob', 'uk', 8);
    INSERT INTO pets SELECT 10 + g, g FROM generate_series(1, 5) AS s (g);
    INSERT INTO pets SELECT 10 + g, g FROM generate_series(1, 3) AS s (g);
    UPDATE pets SET owner = 77 WHERE id = 1;
    UPDATE pets SET id = id + 100;
    UPDATE pets SET mail = 'nobody', owner = NULL WHERE id = 101;
    DELETE FROM owners WHERE id = 1;
    UPDATE owners SET id = 5 WHERE id = 2;
    UPDATE owners SET country = 'de' WHERE id = 1;
    UPDATE owners SET country = 'de' WHERE id = 2;
    UPDATE owners SET email = 'ADA' WHERE id = 1;
    DELETE FROM pets WHERE owner = 2;
    DELETE FROM owners WHERE id = 2 RETURNING email;
    INSERT INTO pets (id, owner) VALUES (1, 1), (101, 3) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner + 10;
    INSERT INTO pets (id, owner) VALUES (1, 1), (101, 3) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner;
    INSERT INTO owners (id) VALUES (1), (6) ON CONFLICT (id) DO UPDATE SET id = 60;
    TRUNCATE owners;
    TRUNCATE owners RESTRICT;
    TRUNCATE owners CASCADE;
    TRUNCATE owners, pets;
    SELECT (SELECT count(*) FROM owners), (SELECT count(*) FROM pets)
"""
ACTIONS = """
    CREATE TABLE a (id int PRIMARY KEY, name text UNIQUE);
    CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE c (b int DEFAULT 7 REFERENCES b ON DELETE SET NULL ON UPDATE CASCADE, d int DEFAULT 2
        REFERENCES b ON DELETE SET DEFAULT ON UPDATE SET NULL, note text);
    CREATE TABLE d (name text NOT NULL REFERENCES a (name) ON DELETE SET NULL ON UPDATE CASCADE);
    INSERT INTO a VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, NULL);
    INSERT INTO b VALUES (1, 1), (2, 2), (3, 1), (4, NULL), (5, 3);
    INSERT INTO c VALUES (1, 1, 'x'), (1, 1, 'x'), (3, 5, 'y'), (2, 3, 'z'), (NULL, 4, 'n');
    UPDATE a SET id = 10 WHERE id = 1;
    SELECT * FROM b ORDER BY id;
    UPDATE b SET id = id + 10 WHERE id IN (1, 3);
    SELECT * FROM c ORDER BY b, d, note;
    UPDATE c SET d = b WHERE b IS NOT NULL;
    DELETE FROM a WHERE id = 10;
    SELECT * FROM b ORDER BY id;
    SELECT * FROM c ORDER BY b, d, note;
    DELETE FROM b WHERE id = 2;
    SELECT * FROM c ORDER BY b, d, note;
    INSERT INTO d VALUES ('two'), ('two'), ('three');
    UPDATE a SET name = upper(name) WHERE id > 2;
    SELECT * FROM d ORDER BY name;
    DELETE FROM a WHERE id = 3;
    INSERT INTO a VALUES (2, 'two'), (20, 'twenty') ON CONFLICT (id) DO UPDATE SET name = 'deux';
    SELECT * FROM d ORDER BY name;
    INSERT INTO b SELECT g, CASE WHEN g % 2 = 0 THEN 2 ELSE 20 END FROM generate_series(100, 500) AS s (g);
    DELETE FROM a WHERE id = 20;
    SELECT count(*), min(a), max(a), min(id) FROM b WHERE id >= 100;
    DELETE FROM d;
    DELETE FROM a;
    SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b), (SELECT count(*) FROM c)
"""
TREE = """
    CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree ON DELETE CASCADE ON UPDATE CASCADE);
    INSERT INTO tree VALUES (3, 2), (2, 1), (1, NULL), (4, 4);
    INSERT INTO tree VALUES (5, 6);
    INSERT INTO tree VALUES (5, 6), (6, 5);
    UPDATE tree SET id = 40 WHERE id = 4;
    UPDATE tree SET id = 20 WHERE id = 2;
    SELECT * FROM tree ORDER BY id;
    DELETE FROM tree WHERE id = 1;
    DELETE FROM tree WHERE id = 5;
    SELECT * FROM tree ORDER BY id;
    CREATE TABLE chain (id bigint PRIMARY KEY, next smallint REFERENCES chain);
    INSERT INTO chain VALUES (1, 2), (2, NULL);
    DELETE FROM chain WHERE id = 2;
    DELETE FROM chain;
    INSERT INTO chain VALUES (1, 2), (2, 1);
    UPDATE chain SET id = id + 1, next = next + 1 WHERE id = 2;
    TRUNCATE chain
"""
FULL = """
    CREATE TABLE places (x int, y int, UNIQUE (x, y));
    CREATE TABLE things (x int, y int, FOREIGN KEY (x, y) REFERENCES places (x, y) MATCH FULL);
    INSERT INTO places VALUES (1, 1), (1, 2);
    INSERT INTO things VALUES (NULL, NULL), (1, 2);
    INSERT INTO things VALUES (NULL, 1);
    UPDATE things SET x = NULL WHERE x = 1;
    DELETE FROM places WHERE y = 1;
    DELETE FROM places WHERE y = 2;
    CREATE TABLE strict (p int PRIMARY KEY);
    CREATE TABLE loose (p int REFERENCES strict ON DELETE RESTRICT ON UPDATE RESTRICT DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO strict VALUES (1);
    INSERT INTO loose VALUES (1);
    BEGIN;
    DELETE FROM strict;
    ROLLBACK
"""
DEFERRED = """
    CREATE TABLE p (id int PRIMARY KEY);
    CREATE TABLE c (id int, p int CONSTRAINT late REFERENCES p DEFERRABLE INITIALLY DEFERRED,
        q int CONSTRAINT able REFERENCES p DEFERRABLE, r int REFERENCES p);
    INSERT INTO c VALUES (1, 1);
    BEGIN;
    INSERT INTO c VALUES (1, 1);
    INSERT INTO p VALUES (1);
    COMMIT;
    BEGIN;
    INSERT INTO c VALUES (2, 2);
    INSERT INTO p VALUES (3);
    COMMIT;
    SELECT * FROM c;
    BEGIN;
    DELETE FROM p WHERE id = 1;
    UPDATE c SET p = NULL;
    COMMIT;
    BEGIN;
    INSERT INTO c VALUES (4, NULL, 4);
    ROLLBACK;
    BEGIN;
    SET CONSTRAINTS able DEFERRED;
    INSERT INTO c VALUES (4, NULL, 4);
    SAVEPOINT s;
    INSERT INTO c VALUES (5, 5);
    ROLLBACK TO s;
    INSERT INTO p VALUES (4);
    SET CONSTRAINTS able IMMEDIATE;
    INSERT INTO c VALUES (5, NULL, 5);
    ROLLBACK TO s;
    INSERT INTO p VALUES (4);
    INSERT INTO c VALUES (5, 5);
    SET CONSTRAINTS ALL IMMEDIATE;
    COMMIT;
    BEGIN;
    SET CONSTRAINTS ALL DEFERRED;
    INSERT INTO c VALUES (6, 6, 6);
    INSERT INTO c VALUES (7, NULL, NULL, 7);
    ROLLBACK;
    BEGIN;
    SET CONSTRAINTS ALL DEFERRED;
    INSERT INTO c VALUES (6, 6, 6);
    INSERT INTO p VALUES (6);
    COMMIT;
    BEGIN;
    DELETE FROM p;
    COMMIT;
    SELECT * FROM c ORDER BY id;
    SELECT * FROM p ORDER BY id;
    SET CONSTRAINTS able DEFERRED
"""
DEFINITIONS = """
    CREATE TABLE p (id int PRIMARY KEY, code text, UNIQUE (code));
    CREATE TABLE wrong (p int REFERENCES p (code));
    CREATE TABLE wrong (p text REFERENCES p (id));
    CREATE TABLE plain (id int);
    CREATE TABLE wrong (p int REFERENCES plain (id));
    CREATE TABLE wrong (p int REFERENCES plain);
    CREATE TABLE wrong (p int, FOREIGN KEY (p, q) REFERENCES p);
    CREATE TABLE c (id int PRIMARY KEY, p bigint);
    INSERT INTO p VALUES (1, 'a'), (2, 'b');
    INSERT INTO c VALUES (1, 1), (2, 3);
    ALTER TABLE c ADD FOREIGN KEY (p) REFERENCES p;
    ALTER TABLE c ADD CONSTRAINT later FOREIGN KEY (p) REFERENCES p NOT VALID;
    INSERT INTO c VALUES (3, 3);
    ALTER TABLE c VALIDATE CONSTRAINT later;
    UPDATE c SET p = 2 WHERE p = 3;
    ALTER TABLE c VALIDATE CONSTRAINT later;
    DELETE FROM p WHERE id = 2;
    ALTER TABLE c ADD COLUMN code text DEFAULT 'a' REFERENCES p (code);
    DELETE FROM p WHERE code = 'a';
    ALTER TABLE c RENAME COLUMN p TO "The P";
    ALTER TABLE p RENAME COLUMN id TO nr;
    ALTER TABLE p RENAME TO "People";
    INSERT INTO c VALUES (4, 8, 'a');
    INSERT INTO c VALUES (4, 1, 'x');
    SELECT conname::text, contype::text, convalidated, confupdtype::text, confdeltype::text,
        confmatchtype::text, conkey, confkey, confrelid::regclass::text,
        pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' ORDER BY conname;
    SELECT constraint_name::text, update_rule::text, delete_rule::text, match_option::text, unique_constraint_name::text
        FROM information_schema.referential_constraints WHERE constraint_schema = 'side_by_side' ORDER BY 1;
    ALTER TABLE c DROP CONSTRAINT later;
    INSERT INTO c VALUES (4, 8, 'a');
    BEGIN;
    CREATE TABLE d (c int);
    INSERT INTO d VALUES (1), (77);
    ALTER TABLE d ADD CONSTRAINT to_c FOREIGN KEY (c) REFERENCES c;
    ROLLBACK;
    BEGIN;
    CREATE TABLE d (c int);
    INSERT INTO d VALUES (1);
    ALTER TABLE d ADD CONSTRAINT to_c FOREIGN KEY (c) REFERENCES c ON DELETE CASCADE;
    INSERT INTO d VALUES (2);
    SAVEPOINT s;
    INSERT INTO d VALUES (77);
    ROLLBACK TO s;
    DELETE FROM c WHERE id = 2;
    SELECT * FROM d;
    ALTER TABLE d ADD COLUMN other int REFERENCES c (id);
    INSERT INTO d VALUES (4, 1);
    COMMIT;
    SELECT * FROM d ORDER BY c;
    DELETE FROM c WHERE id = 4;
    SELECT * FROM d ORDER BY c;
    INSERT INTO d VALUES (1, 2);
    DELETE FROM c WHERE id = 1;
    DROP TABLE c CASCADE;
    SELECT conname::text FROM pg_constraint WHERE contype = 'f';
    INSERT INTO d VALUES (1, 2)
"""
DETAILS = ("23502", "23503", "23505", "42830")
MESSAGES = (*DETAILS, "42804", "0A000")
"""SQLSTATEs whose messages are PostgreSQL's."""


@pytest.mark.parametrize("script", [REFUSED, ACTIONS, TREE, FULL, DEFERRED, DEFINITIONS])
def test_foreign_keys_are_postgresqls(
    ours: psycopg.Connection, theirs: psycopg.Connection, script: str
) -> None:
    assert_same_answers(ours, theirs, script, messages=MESSAGES, details=DETAILS)


CONVERTED = """
    CREATE TABLE p (id int PRIMARY KEY, n text);
    CREATE TABLE q (pid int REFERENCES p ON DELETE CASCADE, r int);
    CREATE TABLE s (id int PRIMARY KEY, up int REFERENCES s);
    INSERT INTO p VALUES (1), (2);
    INSERT INTO q VALUES (1), (2);
    INSERT INTO s VALUES (1, 1), (2, 1);
    ALTER TABLE p ALTER COLUMN id TYPE bigint;
    ALTER TABLE s ALTER COLUMN id TYPE bigint;
    SELECT attname::text, atttypid::regtype::text FROM pg_attribute
        WHERE attrelid IN ('p'::regclass, 's'::regclass) AND attnum > 0 ORDER BY 1, 2;
    SELECT conname::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid IN ('q'::regclass, 's'::regclass) AND contype = 'f' ORDER BY 1;
    INSERT INTO q VALUES (3);
    INSERT INTO p VALUES (3000000000);
    INSERT INTO q VALUES (2);
    ALTER TABLE q ALTER COLUMN pid TYPE bigint;
    INSERT INTO q VALUES (3000000000);
    INSERT INTO s VALUES (3, 7);
    ALTER TABLE p ALTER COLUMN id TYPE int;
    DELETE FROM p WHERE id = 3000000000;
    ALTER TABLE p ALTER COLUMN id TYPE smallint;
    DELETE FROM p WHERE id = 2;
    SELECT * FROM q ORDER BY pid;
    UPDATE p SET id = 5 WHERE id = 1
"""


def test_keys_of_integers_may_become_others(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, CONVERTED, messages=("23503",))

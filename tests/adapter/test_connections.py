"""Secrets are kept encrypted and shown nowhere; connections use them, and what uses a connection
holds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from fixtures.server import SqlServer

from reclock.adapter.session.session import Session
from reclock.adapter.statements import extras
from reclock.adapter.statements.sources.specs import source_specs
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.clients import kafka_client, postgres_parameters
from reclock.errors import (
    ConfigurationError,
    DependentObjects,
    DuplicateObject,
    InvalidOption,
    PermissionDenied,
    SecretUnavailable,
    SqlSyntaxError,
    UnknownObject,
    UpstreamUnavailable,
)
from reclock.pipeline import maintenance
from reclock.runtime.environment import Environment
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse, parse_one

VALUE = "aubergine-parapet"


def run(environment: Environment, text: str, **more: Any) -> list[tuple[Any, ...]]:
    return [row for result in Session(environment, **more).execute(text) for row in result.rows()]


def client(environment: Environment, source: str) -> dict[str, str]:
    """How the upstream of a source is reached."""
    [spec] = source_specs(environment.stores, [source])
    connector: Any = spec.connector
    return kafka_client(connector.connection, environment.runtime.connection_context.resolve_secret)


MADE = f"""
CREATE SECRET word AS '{VALUE}';
CREATE CONNECTION k TO KAFKA (BROKERS ('a:1', 'b:2'), SASL MECHANISMS 'scram-sha-256', USERNAME = 'me', PASSWORD = SECRET word)
    WITH (validate = false);
CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't', START OFFSET (3)) FORMAT TEXT;
"""


def test_a_source_reaches_its_upstream_with_the_value_the_secret_has_now(
    environment: Environment,
) -> None:
    run(environment, MADE)
    assert client(environment, "s") == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": "me",
        "sasl.password": VALUE,
    }
    run(
        environment,
        (
            "ALTER SECRET word AS 'another'; ALTER SECRET word RENAME TO password; ALTER "
            "CONNECTION k RENAME TO kafka"
        ),
    )
    assert client(environment, "s")["sasl.password"] == "another"
    assert run(environment, "SHOW CREATE SOURCE s")[0][1].startswith(
        "CREATE SOURCE reclock.public.s FROM KAFKA CONNECTION reclock.public.kafka "
        "(TOPIC 't', START OFFSET (3)) FORMAT TEXT"
    )
    with Environment.open(environment.stores.settings.home) as again:
        assert client(again, "s")["sasl.password"] == "another"


def test_a_source_reaches_its_upstream_where_its_connection_leads_now(
    environment: Environment,
) -> None:
    run(environment, MADE)
    run(
        environment,
        """
        CREATE SECRET other AS 'x';
        ALTER CONNECTION k SET (BROKER 'c:3', PASSWORD SECRET other), RESET (SASL MECHANISMS)
            WITH (VALIDATE = FALSE);
        DROP SECRET word
        """,
    )
    expected = {
        "bootstrap.servers": "c:3",
        "security.protocol": "SASL_SSL",
        "sasl.username": "me",
        "sasl.password": "x",
    }
    assert client(environment, "s") == expected
    with Environment.open(environment.stores.settings.home) as again:
        assert client(again, "s") == expected
    assert run(environment, "SHOW CREATE CONNECTION k") == [
        (
            "reclock.public.k",
            "CREATE CONNECTION reclock.public.k TO KAFKA (BROKER = 'c:3', SASL USERNAME = 'me', "
            "SASL PASSWORD = SECRET reclock.public.other)",
        )
    ]
    run(environment, "ALTER CONNECTION IF EXISTS nobody SET (BROKER 'd:4')")


def test_a_connection_leads_elsewhere_only_if_the_other_end_answers(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reclock.connectors.validation._PATIENCE_S", 1)
    run(environment, "CREATE CONNECTION k TO KAFKA (BROKER 'a:1') WITH (VALIDATE = FALSE)")
    with pytest.raises(UpstreamUnavailable):
        run(environment, "ALTER CONNECTION k SET (BROKER '127.0.0.1:1')")
    [(_, text)] = run(environment, "SHOW CREATE CONNECTION k")
    assert "BROKER = 'a:1'" in text


def test_what_is_used_is_not_dropped(environment: Environment) -> None:
    run(environment, MADE)
    for drop in ("DROP SECRET word", "DROP CONNECTION k"):
        with pytest.raises(DependentObjects):
            run(environment, drop)
    run(
        environment,
        "DROP SOURCE s; DROP CONNECTION k; DROP SECRET word; DROP SECRET IF EXISTS word",
    )
    assert run(environment, "SHOW SECRETS") == run(environment, "SHOW CONNECTIONS") == []


def test_a_value_is_not_kept_longer_than_the_secret_has_it(environment: Environment) -> None:
    references: list[str] = []
    put_secret = environment.stores.secrets.put
    for text in ("CREATE SECRET word AS 'one'", "ALTER SECRET word AS 'two'", "DROP SECRET word"):
        run(environment, text)
        for item in environment.stores.catalog.sync().items.values():
            references.append(parse_one(item.create_sql or "").args["reference"].name)
    assert len(set(references)) == 2
    for reference in references:
        with pytest.raises(SecretUnavailable):
            environment.stores.secrets.get(reference, "word")
    put_secret("r", "x")
    assert environment.stores.secrets.get("r", "word") == "x"


def test_connections_and_secrets_are_listed_without_values(environment: Environment) -> None:
    run(environment, MADE)
    assert run(environment, "SHOW SECRETS") == [("word",)]
    assert run(environment, "SHOW CONNECTIONS") == [("k", "kafka")]
    assert run(environment, "SELECT name, type FROM mz_connections") == [("k", "kafka")]
    assert run(environment, "SELECT name, owner_id FROM mz_secrets") == [("word", "u1")]
    [(_, text)] = run(environment, "SHOW CREATE CONNECTION k")
    assert text == (
        "CREATE CONNECTION reclock.public.k TO KAFKA (BROKER = 'a:1,b:2', SASL "
        "MECHANISMS = 'scram-sha-256', "
        "SASL USERNAME = 'me', SASL PASSWORD = SECRET reclock.public.word)"
    )
    assert run(
        environment, "SELECT name FROM mz_objects WHERE type IN ('secret', 'connection') ORDER BY 1"
    ) == [("k",), ("word",)]
    assert run(environment, "SELECT relname FROM pg_class WHERE relname IN ('k', 'word')") == []


def test_a_value_is_in_no_log_no_catalog_and_no_file(sql_server: SqlServer) -> None:
    with sql_server.connect() as root:
        root.execute(f"CREATE SECRET hidden AS '{VALUE}'")
        root.execute(f"ALTER SECRET hidden AS '{VALUE}'")
        root.execute(
            "CREATE CONNECTION away TO POSTGRES (HOST 'h', DATABASE d, USER u, PASSWORD "
            "SECRET hidden) WITH (validate = false)"
        )
        for wrong in (
            f"CREATE SECRET other '{VALUE}'",
            f"CREATE SECRET other AS {VALUE}",
            f"CREATE SECRET other AS '{VALUE}' NONSENSE",
            f"CREATE SECRET other AS '{VALUE}' '{VALUE}'",
            f"CREATE SECRET hidden AS '{VALUE}'",
            f"ALTER SECRET other AS '{VALUE}'",
        ):
            with pytest.raises(psycopg.Error) as error:
                root.execute(wrong)
            diagnostic = error.value.diag
            assert (
                VALUE.split("-")[0]
                not in f"{diagnostic.message_primary} {diagnostic.message_detail} {diagnostic.message_hint}"
            )
        definitions = root.execute(
            "SELECT details FROM mz_audit_events UNION ALL SELECT create_sql FROM mz_connections"
        ).fetchall()
        root.execute("DROP CONNECTION away")
        root.execute("DROP SECRET hidden")
    assert not any(VALUE in text for (text,) in definitions)
    assert (sql_server.home / "secrets.key").stat().st_mode & 0o777 == 0o600
    for path in sql_server.home.rglob("*"):
        assert not path.is_file() or VALUE.encode() not in path.read_bytes(), path


def test_what_is_parsed_does_not_show_the_value() -> None:
    [parsed] = parse(f"CREATE SECRET s AS '{VALUE}'")
    assert VALUE not in repr(parsed) + to_sql(parsed.node) + parsed.text
    assert parse_one(to_sql(parsed.node)) == parsed.node


def test_nobody_names_the_place_of_a_value(environment: Environment) -> None:
    run(environment, MADE)
    [stored] = [
        item.create_sql or ""
        for item in environment.stores.catalog.sync().items.values()
        if item.name == "word"
    ]
    with pytest.raises(InvalidOption, match="a secret needs a value"):
        run(environment, stored.replace("word", "mine"))


def test_without_its_key_a_secret_stays_closed(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(environment, MADE)
    key = environment.stores.settings.home / "secrets.key"
    text = key.read_text()
    key.unlink()
    with pytest.raises(SecretUnavailable, match="cannot be had"):
        client(environment, "s")
    with pytest.raises(ConfigurationError, match="the key of the secrets is not here"):
        run(environment, "CREATE SECRET other AS 'x'")
    monkeypatch.setenv("RECLOCK_SECRETS_KEY", text.strip())
    with Environment.open(environment.stores.settings.home) as elsewhere:
        assert client(elsewhere, "s")["sasl.password"] == VALUE
    monkeypatch.setenv("RECLOCK_SECRETS_KEY", "A" * 43 + "=")
    with (
        Environment.open(environment.stores.settings.home) as stranger,
        pytest.raises(SecretUnavailable),
    ):
        client(stranger, "s")


def test_one_value_cannot_be_put_in_the_place_of_another(environment: Environment) -> None:
    run(environment, "CREATE SECRET a AS 'x'; CREATE SECRET b AS 'y'")
    references = [
        parse_one(item.create_sql or "").args["reference"].name
        for item in environment.stores.catalog.sync().items.values()
    ]
    find = "SELECT reference, token FROM reclock_secrets"
    swap = "UPDATE reclock_secrets SET token = ? WHERE reference = ?"

    def exchange(connection: sa.Connection) -> None:  # whoever can write to consensus can do that
        tokens = dict(connection.exec_driver_sql(find).all())
        for one, other in zip(references, reversed(references), strict=True):
            connection.exec_driver_sql(swap, (tokens[one], other))

    environment.stores.consensus.transact(exchange)
    with pytest.raises(SecretUnavailable):
        environment.stores.secrets.get(references[0], "a")


def test_usage_is_what_it_takes_to_use_them(environment: Environment) -> None:
    run(environment, MADE + "CREATE ROLE ada LOGIN; GRANT CREATE ON SCHEMA public TO ada")
    connection = (
        "CREATE CONNECTION own TO KAFKA (BROKER 'a:1', PASSWORD SECRET word) WITH (validate "
        "= false)"
    )
    source = "CREATE SOURCE mine FROM KAFKA CONNECTION k (TOPIC 't') FORMAT TEXT"
    for text in (
        connection,
        source,
        "ALTER SECRET word AS 'x'",
        "DROP SECRET word CASCADE",
        "VALIDATE CONNECTION k",
        "ALTER CONNECTION k SET (BROKER 'c:1') WITH (VALIDATE = FALSE)",
    ):
        with pytest.raises(PermissionDenied):
            run(environment, text, user="ada")
    run(environment, "GRANT USAGE ON SECRET word TO ada; GRANT USAGE ON CONNECTION k TO ada")
    run(environment, f"{connection}; {source}", user="ada")
    [shown] = run(environment, "SHOW PRIVILEGES ON SECRETS FOR ada")
    assert shown[1:] == ("ada", "reclock", "public", "word", "secret", "USAGE")


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment.initialise(tmp_path_factory.mktemp("made")) as opened:
        run(opened, MADE)
        yield opened


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE CONNECTION c TO KAFKA (SASL USERNAME 'x')", InvalidOption),
        ("CREATE CONNECTION c TO KAFKA (BROKER 'a:1', BROKERS 'b:1')", InvalidOption),
        ("CREATE CONNECTION c TO KAFKA (BROKER SECRET word)", InvalidOption),
        ("CREATE CONNECTION c TO KAFKA (BROKER 'a:1', SASL PASSWORD 'plain')", InvalidOption),
        ("CREATE CONNECTION c TO KAFKA (BROKER 'a:1', SECURITY PROTOCOL 'TELNET')", InvalidOption),
        ("CREATE CONNECTION c TO KAFKA (BROKER 'a:1', PASSWORD SECRET nobody)", UnknownObject),
        ("CREATE CONNECTION c TO KAFKA (COLOUR 'red')", SqlSyntaxError),
        ("CREATE CONNECTION c TO FAX (NUMBER 1)", SqlSyntaxError),
        ("ALTER CONNECTION k SET (HOST 'a')", InvalidOption),
        ("ALTER CONNECTION k SET (COLOUR 'red')", SqlSyntaxError),
        ("ALTER CONNECTION k RESET (BROKER)", InvalidOption),
        ("ALTER CONNECTION k SET (BROKER 'a:1'), RESET (BROKERS)", InvalidOption),
        ("ALTER CONNECTION k SET (SASL PASSWORD 'plain')", InvalidOption),
        ("ALTER CONNECTION k PAINT RED", SqlSyntaxError),
        ("ALTER CONNECTION nobody SET (BROKER 'a:1')", UnknownObject),
        ("CREATE CONNECTION c TO KAFKA (BROKER 'a:1') WITH (colour = 'red')", InvalidOption),
        ("CREATE CONNECTION k TO KAFKA (BROKER 'a:1')", DuplicateObject),
        ("CREATE SOURCE x FROM KAFKA CONNECTION nobody (TOPIC 't') FORMAT TEXT", UnknownObject),
        ("CREATE SOURCE x FROM KAFKA CONNECTION k FORMAT TEXT", SqlSyntaxError),
        ("CREATE SOURCE x FROM KAFKA CONNECTION k (GROUP ID 'g') FORMAT TEXT", InvalidOption),
        (
            "CREATE SOURCE x FROM POSTGRES CONNECTION k (PUBLICATION 'p') FOR ALL TABLES",
            InvalidOption,
        ),
        ("CREATE CONNECTION c TO KAFKA (BROKER '127.0.0.1:1')", UpstreamUnavailable),
        (
            "CREATE CONNECTION c TO POSTGRES (HOST '127.0.0.1', PORT 1, DATABASE d, USER u)",
            UpstreamUnavailable,
        ),
    ],
)
def test_what_is_refused(
    created: Environment, text: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reclock.connectors.validation._PATIENCE_S", 1)
    with pytest.raises(error):
        run(created, text)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("two\nlines, ünïcode", "decode('dHdvCmxpbmVzLCDDvG7Dr2NvZGU=', 'base64')"),
        ("two\nlines", "decode('dHdv\nCmxpbmVz', 'base64')"),
        ("hi", "decode('6869', 'hex')"),
    ],
)
def test_a_secret_may_be_given_encoded(created: Environment, value: str, encoded: str) -> None:
    run(created, f"ALTER SECRET word AS {encoded}")
    assert client(created, "s")["sasl.password"] == value


@pytest.mark.parametrize(
    "value",
    [
        "'hush'",
        "AS hush",
        "AS 'hush' 'hush'",
        "AS 'hush' || 'x'",
        "AS decode('hush', 'hex')",
        "AS decode('hush')",
        "AS decode('hush', 'rot13')",
        "AS decode('hush', 'base64'",
        "AS decode('/////w==', 'base64')",
    ],
)
def test_no_mistake_repeats_the_value_of_a_secret(created: Environment, value: str) -> None:
    with pytest.raises(SqlSyntaxError) as refused:
        run(created, f"CREATE SECRET mistaken {value}")
    assert "hush" not in f"{refused.value} {refused.value.detail} {refused.value.hint}"


def test_a_server_is_reached_by_its_name_in_libpq(environment: Environment) -> None:
    run(
        environment,
        f"CREATE SECRET word AS '{VALUE}'; CREATE CONNECTION p TO POSTGRES (HOST 'h', "
        "PORT 5433, DATABASE shop, USER = 'me', "
        "PASSWORD = SECRET word, SSL MODE 'verify-full') WITH (validate = false)",
    )
    [entry] = [
        entry for entry in environment.stores.planner_catalog().entries() if entry.name.item == "p"
    ]
    assert postgres_parameters(
        entry.connection, environment.runtime.connection_context.resolve_secret
    ) == {  # type: ignore[union-attr]
        "host": "h",
        "port": "5433",
        "dbname": "shop",
        "user": "me",
        "password": VALUE,
        "sslmode": "verify-full",
    }


def test_the_value_of_a_secret_that_was_never_committed_is_swept_when_it_is_old(
    environment: Environment, monkeypatch
) -> None:
    run(environment, f"CREATE SECRET stays AS '{VALUE}'")
    environment.stores.secrets.put("orphan", "x")  # a process that is killed before its commit
    [stays] = [
        parse_one(item.create_sql or "").args["reference"].name
        for item in environment.stores.catalog.sync().items.values()
    ]
    assert len(references(environment)) == 2
    assert maintenance.sweep(environment).secrets == 0
    clock = environment.stores.clock
    monkeypatch.setattr(environment.stores, "clock", lambda: Timestamp(clock() + 25 * 3_600_000))
    assert maintenance.sweep(environment).secrets == 1
    assert references(environment) == {stays}
    assert environment.stores.secrets.get(stays, "stays") == VALUE


def references(environment: Environment) -> set[str]:
    find = "SELECT reference FROM reclock_secrets"
    return environment.stores.consensus.read(
        lambda connection: {row[0] for row in connection.exec_driver_sql(find)}
    )


def test_what_needs_an_extra_that_is_not_installed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda package: None)
    notices: list[str] = []
    statements = (
        "CREATE CONNECTION h TO HIVE METASTORE (URL 'thrift://h') WITH (VALIDATE = false)",
        "CREATE CONNECTION p TO POSTGRES (HOST 'h', DATABASE 'd', USER 'u') WITH (VALIDATE = false)",
        "CREATE SINK d FROM t INTO DELTA 'd' CATALOG CONNECTION h",
        "CREATE SINK i FROM t INTO ICEBERG (NAMESPACE 'n', TABLE 't')",
        "CREATE SINK f FROM t INTO FILES 'f' FORMAT CSV",
        "CREATE SINK IF NOT EXISTS i FROM t INTO ICEBERG (NAMESPACE 'n', TABLE 't')",
        "CREATE SOURCE s (a int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON",
        "CREATE SOURCE c FROM PUBNUB SUBSCRIBE KEY 'k' CHANNEL 'c'",
    )
    with Environment.initialise(tmp_path) as environment:
        run(environment, "CREATE TABLE t (a int)")
        for statement in statements:
            run(environment, statement, notice=notices.append)
    notices_of_extras = [notice for notice in notices if "extra" in notice]
    assert [notice.split('"')[1] for notice in notices_of_extras] == [
        "hive",
        "hive",
        "iceberg",
        "pubnub",
    ]
    assert "pip install 'reclock[hive]'" in notices_of_extras[0]

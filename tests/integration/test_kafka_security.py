"""A broker that wants TLS and a password, reached by a connection whose password and certificates
are secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from fixtures.kafka import USER, Broker
from fixtures.sessions import sql

from reclock.errors import UpstreamUnavailable
from reclock.pipeline import tick
from reclock.runtime.environment import Environment


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with Environment.initialise(tmp_path) as opened:
        yield opened


def connect(
    environment: Environment, kafka: Broker, name: str, mechanism: str, password: str
) -> None:
    options = f"BROKER '{kafka.secure}', SASL MECHANISMS '{mechanism}', SASL USERNAME '{USER[0]}'"
    sql(
        environment,
        (
            f"CREATE CONNECTION {name} TO KAFKA ({options}, SASL PASSWORD SECRET {password}, "
            "SSL CERTIFICATE AUTHORITY SECRET ca)"
        ),
    )


def test_tls_and_passwords_by_either_mechanism(kafka: Broker, environment: Environment) -> None:
    user, password = USER
    scram = UserScramCredentialUpsertion(
        user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), password.encode()
    )
    kafka.admin.alter_user_scram_credentials([scram])[user].result(30)
    topic = kafka.topic()
    kafka.send(topic, [b"a", b"b"])
    authority = (kafka.home / "authority.pem").read_text()
    sql(
        environment,
        (
            f"CREATE SECRET ca AS '{authority}'; CREATE SECRET right_one AS '{password}'; "
            "CREATE SECRET wrong AS 'no'"
        ),
    )
    for name, mechanism in (("plain", "PLAIN"), ("scram", "SCRAM-SHA-256")):
        with pytest.raises(UpstreamUnavailable) as failure:
            connect(environment, kafka, name, mechanism, "wrong")
        assert "uthentication" in (failure.value.detail or "")
        connect(environment, kafka, name, mechanism, "right_one")
        sql(environment, f"VALIDATE CONNECTION {name}")
        sql(
            environment,
            (
                f"CREATE SOURCE {name}_source FROM KAFKA CONNECTION {name} (TOPIC '{topic}', "
                "GROUP ID 'g') FORMAT TEXT"
            ),
        )
    assert not tick.run(environment, owner="tests").failed
    query = "SELECT text FROM plain_source UNION ALL SELECT text FROM scram_source ORDER BY 1"
    assert sql(environment, query) == [("a",), ("a",), ("b",), ("b",)]

    sql(environment, "ALTER SECRET right_one AS 'no more'")
    kafka.send(topic, [b"c"])
    [stalled, _] = tick.run(environment, owner="tests").failed
    assert "cannot read topic" in stalled.message
    sql(environment, f"ALTER SECRET right_one AS '{password}'")
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT count(*) FROM plain_source") == [(3,)]
    with pytest.raises(UpstreamUnavailable):  # whom nobody trusts
        sql(
            environment,
            f"CREATE CONNECTION naked TO KAFKA (BROKER '{kafka.secure}', SECURITY PROTOCOL 'SSL')",
        )

"""SCRAM-SHA-256: the published example of RFC 7677, and who gets in."""

from __future__ import annotations

import base64
import struct

import pytest
import scramp
from scramp import ScramClient

from reclock.consensus.credentials.verifiers import Verifier, stored_password
from reclock.errors import AuthenticationFailed, InvalidOption, ProtocolViolation
from reclock.server.authentication import MECHANISM, Scram


def first(text: str) -> bytes:
    return MECHANISM.encode() + b"\0" + struct.pack("!i", len(text)) + text.encode()


def converse(scram: Scram, password: str) -> None:
    client = ScramClient([MECHANISM], "anyone", password)
    answer = scram.first(first(client.get_client_first()))
    client.set_server_first(answer.decode())
    client.set_server_final(scram.last(client.get_client_final().encode()).decode())


def test_published_example() -> None:
    """RFC 7677, section 3: user "user", password "pencil"."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    info = scramp.ScramMechanism(MECHANISM).make_auth_info(
        "pencil", iteration_count=4096, salt=salt
    )
    verifier = Verifier(info[3], info[0], info[1], info[2])
    scram = Scram("user", str(verifier), b"secret", nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    assert scram.first(first("n,,n=user,r=rOprNGfwEbeRWgbNEkqO")) == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    proof = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert scram.last(proof) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_the_right_password_alone_gets_in() -> None:
    verifier = stored_password("pencil")
    converse(Scram("u", verifier, b"secret"), "pencil")
    for wrong in ("Pencil", "pencil ", "x"):
        with pytest.raises(AuthenticationFailed):
            converse(Scram("u", verifier, b"secret"), wrong)


def test_an_unknown_role_is_refused_by_the_same_messages() -> None:
    def salt(user: str) -> str:
        return Scram(user, None, b"secret").first(first("n,,n=,r=abc")).decode().split(",")[1]

    assert salt("ghost") == salt("ghost") != salt("other")
    for password in ("x", "secret"):
        with pytest.raises(AuthenticationFailed):
            converse(Scram("ghost", None, b"secret"), password)


@pytest.mark.parametrize(
    "body",
    [b"", b"PLAIN\0", MECHANISM.encode(), first("n,,")[:-1], first("y,,n=,r="), first("\xff")],
)
def test_what_is_no_scram_is_refused(body: bytes) -> None:
    with pytest.raises((AuthenticationFailed, ProtocolViolation)):
        Scram("u", stored_password("pencil"), b"secret").first(body)


def test_a_verifier_is_kept_as_it_is_and_shows_no_password() -> None:
    verifier = stored_password("pencil")
    assert stored_password(verifier) == verifier
    assert "pencil" not in verifier
    assert stored_password("pencil") != verifier
    with pytest.raises(InvalidOption):
        stored_password("")

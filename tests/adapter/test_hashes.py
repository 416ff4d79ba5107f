"""``digest`` and ``hmac`` answer as the standards' own examples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Environment.initialise(tmp_path_factory.mktemp("hashes")) as environment:
        yield Session(environment)


@pytest.mark.parametrize(
    ("call", "hexadecimal"),
    [
        # RFC 1321, A.5; FIPS 180-2, A.1 and B.1
        ("digest('message digest', 'md5')", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("digest('abc', 'SHA1')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "digest('\\x616263'::bytea, 'sha256')",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        # RFC 2104, test 2; RFC 4231, tests 2 and 1
        ("hmac('what do ya want for nothing?', 'Jefe', 'md5')", "750c783e6ab0b503eaa86e310a5db738"),
        (
            "hmac('what do ya want for nothing?', 'Jefe', 'sha256')",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            f"hmac('\\x4869205468657265'::bytea, '\\x{'0b' * 20}'::bytea, 'sha224')",
            "896fb1128abbdf196832107cd49df33f47b4b1169912ba4f53684b22",
        ),
    ],
)
def test_examples_of_the_standards(session: Session, call: str, hexadecimal: str) -> None:
    assert run(session, f"SELECT encode({call}, 'hex')") == [(hexadecimal,)]


def test_an_unknown_algorithm_is_refused_and_null_is_null(session: Session) -> None:
    with pytest.raises(ReclockError, match="No such hash algorithm") as refused:
        run(session, "SELECT digest('abc', 'sha3')")
    assert refused.value.sqlstate == "22023"
    assert run(session, "SELECT digest(NULL, 'md5'), hmac('a', NULL, 'md5')") == [(None, None)]

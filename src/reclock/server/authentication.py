"""SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side of it, over verifiers in PostgreSQL's form.

A verifier proves a password but is none: ``SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>``, in base64.
"""

from __future__ import annotations

import hashlib
import hmac
import struct

import scramp

from reclock.consensus.passwords import Verifier
from reclock.errors import AuthenticationFailed, ProtocolViolation

MECHANISM = "SCRAM-SHA-256"


class Scram:
    """One client that proves to know ``user``'s password. A user without one goes the same way, to the same refusal."""

    def __init__(self, user: str, verifier: str | None, server_secret: bytes) -> None:
        """``server_secret`` makes the salt of users that are not there the same at each attempt, as that of others is."""
        self._user = user
        self._known = verifier is not None
        found = Verifier.parse(verifier) if verifier is not None else _mock(user, server_secret)
        info = (found.salt, found.stored_key, found.server_key, found.iterations)
        self._server = scramp.ScramMechanism(MECHANISM).make_server(lambda _: info)

    def first(self, body: bytes) -> bytes:
        """The answer to the client's first message, which names the mechanism. Raises what ``last`` raises."""
        name, _, rest = body.partition(b"\0")
        if name != MECHANISM.encode():
            raise ProtocolViolation("client selected an invalid SASL authentication mechanism")
        if len(rest) < 4 or struct.unpack_from("!i", rest)[0] != len(rest) - 4:
            raise ProtocolViolation("malformed SCRAM message")
        try:
            self._server.set_client_first(rest[4:].decode())
            return str(self._server.get_server_first()).encode()
        except (scramp.ScramException, ValueError, LookupError) as error:
            raise AuthenticationFailed(self._user) from error

    def last(self, body: bytes) -> bytes:
        """The server's proof, once the client has given its own. Raises ``AuthenticationFailed``."""
        try:
            self._server.set_client_final(body.decode())
            answer = str(self._server.get_server_final()).encode()
        except (scramp.ScramException, ValueError, LookupError) as error:
            raise AuthenticationFailed(self._user) from error
        if not self._known:
            raise AuthenticationFailed(self._user)
        return answer


def _mock(user: str, server_secret: bytes) -> Verifier:
    """A verifier that no password fits, as far as anyone can tell."""
    salt, stored, server = (hmac.digest(server_secret, f"{part}:{user}".encode(), hashlib.sha256) for part in ("salt", "a", "b"))
    return Verifier(4096, salt[:16], stored, server)

"""The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), over verifiers in PostgreSQL's form.

It is written by hand: libpq leaves the name in the client's first message empty (the startup
message has it), and the library that makes the verifiers accepts no empty name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import struct

from reclock.consensus.credentials.verifiers import Verifier
from reclock.errors import AuthenticationFailed, ProtocolViolation

MECHANISM = "SCRAM-SHA-256"
_FIRST = re.compile(r"([ny],(?:a=[^,]*)?,)(n=[^,]*,r=([!-+\--~]+)(?:,.*)?)", re.DOTALL)
_LAST = re.compile(r"(c=([^,]+),r=([^,]+)(?:,[^,]*=[^,]*)*),p=([^,]+)", re.DOTALL)


class Scram:
    """The exchange with one client that claims to be ``user``. A user without a password gets the
    same messages and is refused."""

    def __init__(
        self, user: str, verifier: str | None, server_secret: bytes, nonce: str | None = None
    ) -> None:
        """``server_secret`` gives an unknown user the same salt at each attempt, like a known
        one."""
        self._user = user
        self._is_known = verifier is not None
        self._verifier = (
            Verifier.parse(verifier) if verifier is not None else _mock(user, server_secret)
        )
        self._nonce = nonce or base64.b64encode(secrets.token_bytes(18)).decode()
        self._header = self._messages = ""

    def first(self, body: bytes) -> bytes:
        """The answer to the client's first message, which names the mechanism. Raises
        ``ProtocolViolation``."""
        mechanism, _, response = body.partition(b"\0")
        if mechanism != MECHANISM.encode():
            raise ProtocolViolation("client selected an invalid SASL authentication mechanism")
        if len(response) < 4 or struct.unpack_from("!i", response)[0] != len(response) - 4:
            raise ProtocolViolation("malformed SCRAM message")
        match = _FIRST.fullmatch(response[4:].decode(errors="replace"))
        if match is None:
            raise ProtocolViolation("malformed SCRAM message")
        self._header, bare, nonce = match.groups()
        self._nonce = nonce + self._nonce
        salt = base64.b64encode(self._verifier.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        self._messages = f"{bare},{answer}"
        return answer.encode()

    def last(self, body: bytes) -> bytes:
        """The server's proof, in answer to the client's. Raises ``AuthenticationFailed``,
        ``ProtocolViolation``."""
        match = _LAST.fullmatch(body.decode(errors="replace"))
        if match is None:
            raise ProtocolViolation("malformed SCRAM message")
        without_proof, header, nonce, proof = match.groups()
        try:
            is_same_exchange = (
                base64.b64decode(header, validate=True) == self._header.encode()
                and nonce == self._nonce
            )
            client_proof = base64.b64decode(proof, validate=True)
        except binascii.Error:
            raise ProtocolViolation("malformed SCRAM message") from None
        exchanged = f"{self._messages},{without_proof}".encode()
        signature = hmac.digest(self._verifier.stored_key, exchanged, hashlib.sha256)
        key = bytes(a ^ b for a, b in zip(client_proof, signature, strict=False))
        is_proof_valid = hmac.compare_digest(
            hashlib.sha256(key).digest(), self._verifier.stored_key
        )
        if not (
            is_same_exchange
            and len(client_proof) == len(signature)
            and is_proof_valid
            and self._is_known
        ):
            raise AuthenticationFailed(self._user)
        return b"v=" + base64.b64encode(
            hmac.digest(self._verifier.server_key, exchanged, hashlib.sha256)
        )


def _mock(user: str, server_secret: bytes) -> Verifier:
    """A verifier for an unknown user, which no password matches."""
    salt, stored, server = (
        hmac.digest(server_secret, f"{part}:{user}".encode(), hashlib.sha256)
        for part in ("salt", "a", "b")
    )
    return Verifier(4096, salt[:16], stored, server)

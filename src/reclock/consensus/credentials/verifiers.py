"""SCRAM-SHA-256 verifiers of passwords, in PostgreSQL's form. A verifier can check a password, but
does not reveal it."""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from typing import Self

import scramp

from reclock.errors import InvalidOption

_ITERATIONS = 4096
_PREFIX = "SCRAM-SHA-256$"


@dataclass(frozen=True, slots=True)
class Verifier:
    """Checks that a client knows a password (RFC 5802)."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(cls, password: str) -> Self:
        """A verifier of the password, with a new salt."""
        salt, stored_key, server_key, iterations = scramp.ScramMechanism(
            "SCRAM-SHA-256"
        ).make_auth_info(password, iteration_count=_ITERATIONS, salt=secrets.token_bytes(16))
        return cls(iterations, salt, stored_key, server_key)

    @classmethod
    def parse(cls, text: str) -> Self:
        """``SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>``. Raises
        ``ValueError``."""
        if not text.startswith(_PREFIX):
            raise ValueError("no SCRAM-SHA-256 verifier")
        head, _, keys = text.removeprefix(_PREFIX).partition("$")
        iterations, _, salt = head.partition(":")
        try:
            parts = [base64.b64decode(part, validate=True) for part in (salt, *keys.split(":"))]
        except binascii.Error as error:
            raise ValueError("no SCRAM-SHA-256 verifier") from error
        if (
            len(parts) != 3
            or len(parts[1]) != 32
            or len(parts[2]) != 32
            or not parts[0]
            or not iterations.isdigit()
        ):
            raise ValueError("no SCRAM-SHA-256 verifier")
        return cls(int(iterations), *parts)

    def __str__(self) -> str:
        salt, stored, server = (
            base64.b64encode(part).decode()
            for part in (self.salt, self.stored_key, self.server_key)
        )
        return f"{_PREFIX}{self.iterations}:{salt}${stored}:{server}"


def stored_password(text: str) -> str:
    """The verifier of a password in a statement, which may already be a verifier. Raises
    ``InvalidOption``."""
    try:
        return str(Verifier.parse(text))
    except ValueError:
        pass
    try:
        if not text:
            raise scramp.ScramException("an empty password")
        return str(Verifier.of(text))
    except scramp.ScramException as error:
        raise InvalidOption(
            "the password cannot be used", hint="it is empty or holds characters that SCRAM forbids"
        ) from error


@dataclass(frozen=True, slots=True)
class NewPassword:
    """The new password of a role, as a verifier, which is never shown. None removes the
    password."""

    verifier: str | None = field(repr=False)

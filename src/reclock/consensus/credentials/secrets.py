"""Encrypted values of secrets. They are stored beside the catalog, and their key is stored in
neither, so that one of the stores alone reveals nothing.

Each value has a new, unique reference, which the catalog's definition of the secret contains. A
value is stored before the catalog refers to it, and a new value replaces the old one only when the
catalog refers to the new one. The reference is encrypted with the value, so that values cannot be
exchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import ConfigurationError, SecretUnavailable

_secrets = sa.Table(
    "reclock_secrets",
    metadata,
    sa.Column("reference", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, nullable=False),
)


class Secrets:
    """The values by reference. ``key`` is a Fernet key; without one it is read from ``key_file``,
    which is created with the first secret."""

    def __init__(
        self, consensus: Consensus, leadership: Leadership, key: str, key_file: Path
    ) -> None:
        self._consensus = consensus
        self._leadership = leadership
        self._key = key
        self._key_file = key_file

    def put(self, reference: str, value: str) -> None:
        """Store ``value`` durably; a repeated call changes nothing. Raises ``ConfigurationError``
        if the key of existing values is missing."""
        cipher = self._cipher() or _cipher_of(self._made_key())
        token = cipher.encrypt(f"{reference}\0{value}".encode()).decode()

        def write(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            connection.execute(sa.delete(_secrets).where(_secrets.c.reference == reference))
            connection.execute(sa.insert(_secrets).values(reference=reference, token=token))

        self._consensus.transact(write)

    def get(self, reference: str, name: str) -> str:
        """The value. ``name`` is the secret's name in errors. Raises ``SecretUnavailable``."""
        token = self._consensus.read(
            lambda connection: connection.scalar(
                sa.select(_secrets.c.token).where(_secrets.c.reference == reference)
            )
        )
        if token is None:
            raise SecretUnavailable(
                name,
                detail="its value is not kept any more",
                hint="give it one: ALTER SECRET … AS …",
            )
        cipher = self._cipher()
        if cipher is None:
            raise SecretUnavailable(
                name, detail=f'its key is not here: there is no "{self._key_file}"', hint=_HINT
            )
        try:
            stored_reference, _, value = cipher.decrypt(token.encode()).decode().partition("\0")
        except InvalidToken:
            stored_reference = value = ""
        if stored_reference != reference:
            raise SecretUnavailable(name, detail="it was encrypted with another key", hint=_HINT)
        return value

    def forget(self, references: Iterable[str]) -> None:
        def write(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            connection.execute(
                sa.delete(_secrets).where(_secrets.c.reference.in_(list(references)))
            )

        self._consensus.transact(write)

    def kept_before(self, moment: Timestamp) -> set[str]:
        """The references of values stored before ``moment`` that this process can decrypt."""
        cipher = self._cipher()
        if cipher is None:
            return set()
        tokens = self._consensus.look(sa.select(_secrets.c.reference, _secrets.c.token))
        return {token.reference for token in tokens if _put_at(cipher, token.token) < moment}

    def _cipher(self) -> Fernet | None:
        if self._key:
            return _cipher_of(self._key)
        return _cipher_of(self._key_file.read_text().strip()) if self._key_file.exists() else None

    def _made_key(self) -> str:
        """A new key of this environment. If several processes create one at once, all use the
        first."""
        if self._consensus.read(
            lambda connection: connection.scalar(sa.select(sa.func.count()).select_from(_secrets))
        ):
            raise ConfigurationError(
                f'the key of the secrets is not here: there is no "{self._key_file}"', hint=_HINT
            )
        unfinished = self._key_file.with_name(f".{self._key_file.name}.{uuid4().hex}")
        with os.fdopen(
            os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
        ) as file:
            file.write(Fernet.generate_key().decode() + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(unfinished, self._key_file)
        except FileExistsError:
            pass
        finally:
            unfinished.unlink()
        return self._key_file.read_text().strip()


_HINT = (
    "every process needs the key of the one that made the first secret: its secrets.key, or "
    "RECLOCK_SECRETS_KEY"
)


def _put_at(cipher: Fernet, token: str) -> Timestamp:
    try:
        return Timestamp(cipher.extract_timestamp(token.encode()) * 1000)
    except InvalidToken:  # another key's: not for us to judge
        return MAXIMUM


def _cipher_of(key: str) -> Fernet:
    try:
        return Fernet(key)
    except ValueError as error:
        raise ConfigurationError(
            "the key of the secrets is none of Fernet's",
            hint="32 bytes in URL-safe base64, as Fernet.generate_key() gives them",
        ) from error

"""Connections to upstreams, as CREATE CONNECTION describes them. Secrets are references until they
are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from reclock.errors import SecretUnavailable


@dataclass(frozen=True, slots=True)
class SecretReference:
    """Where the value of a secret is stored. ``name`` is its name in messages."""

    name: str
    reference: str


SecretResolver = Callable[[SecretReference], str]
"""Returns the value of a secret. Raises ``SecretUnavailable``."""


class Secrecy(StrEnum):
    """Whether the statement has an option's value itself, or the name of a secret."""

    PLAIN = "plain"
    EITHER = "either"
    SECRET = "secret"  # noqa: S105  (a word, no password)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a connection. ``choices``, if there are any, are its only values."""

    secrecy: Secrecy = Secrecy.PLAIN
    is_required: bool = False
    choices: tuple[str, ...] = ()


_TLS: Mapping[str, Option] = {
    "SSL KEY": Option(Secrecy.SECRET),
    "SSL CERTIFICATE": Option(Secrecy.EITHER),
    "SSL CERTIFICATE AUTHORITY": Option(Secrecy.EITHER),
}
_KAFKA_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

KAFKA, POSTGRES, SCHEMA_REGISTRY, AWS = "KAFKA", "POSTGRES", "CONFLUENT SCHEMA REGISTRY", "AWS"
ICEBERG, HIVE = "ICEBERG CATALOG", "HIVE METASTORE"

OPTIONS: Mapping[str, Mapping[str, Option]] = {
    KAFKA: {
        "BROKER": Option(is_required=True),
        "SECURITY PROTOCOL": Option(choices=_KAFKA_PROTOCOLS),
        "SASL MECHANISMS": Option(choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
        "SASL USERNAME": Option(Secrecy.EITHER),
        "SASL PASSWORD": Option(Secrecy.SECRET),
        **_TLS,
    },
    POSTGRES: {
        "HOST": Option(is_required=True),
        "PORT": Option(),
        "DATABASE": Option(is_required=True),
        "USER": Option(Secrecy.EITHER, is_required=True),
        "PASSWORD": Option(Secrecy.SECRET),
        "SSL MODE": Option(choices=_SSL_MODES),
    },
    SCHEMA_REGISTRY: {
        "URL": Option(is_required=True),
        "USERNAME": Option(Secrecy.EITHER),
        "PASSWORD": Option(Secrecy.SECRET),
    },
    AWS: {
        "ENDPOINT": Option(),
        "REGION": Option(),
        "ACCESS KEY ID": Option(Secrecy.EITHER),
        "SECRET ACCESS KEY": Option(Secrecy.SECRET),
        "SESSION TOKEN": Option(Secrecy.EITHER),
    },
    ICEBERG: {
        "CATALOG TYPE": Option(is_required=True, choices=("rest",)),
        "URL": Option(is_required=True),
        "WAREHOUSE": Option(),
        "CREDENTIAL": Option(Secrecy.SECRET),
        "TOKEN": Option(Secrecy.SECRET),
        "SCOPE": Option(),
    },
    HIVE: {"URL": Option(is_required=True)},
}
"""The kinds of connection, and the options of each."""

ALIASES: Mapping[str, Mapping[str, str]] = {
    KAFKA: {"BROKERS": "BROKER", "USERNAME": "SASL USERNAME", "PASSWORD": "SASL PASSWORD"},
}
"""Other names of options."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection of a ``kind``, with its options in the order of ``OPTIONS``."""

    kind: str
    options: tuple[tuple[str, str | SecretReference], ...]

    @property
    def type_name(self) -> str:
        return self.kind.lower().replace(" ", "-")

    def resolved_options(self, resolve_secret: SecretResolver) -> dict[str, str]:
        """The options with the values of secrets. Never store or show them."""
        return {
            name: resolve_secret(value) if isinstance(value, SecretReference) else value
            for name, value in self.options
        }


def no_secrets(secret: SecretReference) -> str:
    """A resolver without secrets. Raises ``SecretUnavailable``."""
    raise SecretUnavailable(secret.name, detail="secrets are not to be had here")


def broker(addresses: str) -> Connection:
    """A connection to brokers that need no authentication."""
    return Connection(KAFKA, (("BROKER", addresses),))

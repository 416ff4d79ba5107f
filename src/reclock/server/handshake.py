"""The handshake of a connection: encryption, startup parameters and authentication."""

from __future__ import annotations

import re
import shlex
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from reclock.catalog.objects import Role
from reclock.errors import AuthenticationFailed, ConnectionRefused, ProtocolViolation
from reclock.server import messages
from reclock.server.authentication import MECHANISM, Scram
from reclock.server.stream import MessageStream
from reclock.sql.names import DEFAULT_USER

NEWEST_MINOR = 2


@dataclass(frozen=True, slots=True)
class Credential:
    """What a user must prove to log in. An open role needs no password on this machine. Any other
    role needs the password of ``verifier``, and cannot log in if there is none."""

    is_open: bool
    verifier: str | None


def credential_of(role: Role | None, verifiers: Mapping[str, str]) -> Credential:
    """The credential of a role, or of an unknown user, from the verifiers in consensus."""
    if role is None or "login" not in role.attributes:
        return Credential(is_open=False, verifier=None)
    if role.password is None:
        return Credential(is_open=True, verifier=None)
    return Credential(is_open=False, verifier=verifiers.get(role.password))


@dataclass(frozen=True, slots=True)
class StartupParameters:
    """The parameters of a startup message. The session begins with ``variables``."""

    user: str
    minor: int
    variables: dict[str, str]


async def open_connection(
    stream: MessageStream, tls: ssl.SSLContext | None
) -> messages.Startup | messages.CancelRequest:
    """Read the startup message or a cancel request, after encryption if the client asks for it.
    Raises ``ProtocolViolation``."""
    while True:
        match await stream.handshake_message():
            case messages.SslRequest() if tls is not None and not stream.is_encrypted:
                await stream.encrypt(tls)
            case messages.SslRequest() | messages.GssRequest():
                stream.send(b"N")
                await stream.flush()
            case messages.Startup() | messages.CancelRequest() as request:
                return request


def read_startup(stream: MessageStream, startup: messages.Startup) -> StartupParameters:
    """The startup parameters of the client. Raises ``ProtocolViolation``, ``ConnectionRefused``."""
    unknown = [name for name in startup.parameters if name.startswith("_pq_.")]
    if startup.minor > NEWEST_MINOR or unknown:
        stream.send(messages.negotiate_protocol_version(NEWEST_MINOR, unknown))
    parameters = {name: value for name, value in startup.parameters.items() if name not in unknown}
    user = parameters.pop("user", "")
    if not user:
        raise ConnectionRefused(
            "no PostgreSQL user name specified in startup packet", sqlstate="28000"
        )
    if parameters.pop("replication", "false").lower() not in ("false", "off", "no", "0"):
        raise ConnectionRefused("replication is not supported", sqlstate="0A000")
    variables = options(parameters.pop("options", ""))
    variables["database"] = parameters.pop("database", "") or DEFAULT_USER
    return StartupParameters(user, min(startup.minor, NEWEST_MINOR), variables | parameters)


def options(text: str) -> dict[str, str]:
    """Variables of ``options``: ``-c name=value``, ``-cname=value`` or ``--name=value``. Raises
    ``ConnectionRefused``."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConnectionRefused(
            "invalid command-line arguments for server process", hint=str(error)
        ) from None
    variables = {}
    while words:
        word = words.pop(0)
        setting = (
            words.pop(0)
            if word == "-c" and words
            else word.removeprefix("-c" if word.startswith("-c") else "--")
        )
        matched = (
            re.fullmatch(r"([A-Za-z_][\w.-]*)=(.*)", setting, re.DOTALL)
            if setting != word or word == "-c"
            else None
        )
        if matched is None:
            raise ConnectionRefused(
                f'invalid command-line argument for server process: "{word}"', sqlstate="42601"
            )
        variables[matched[1].replace("-", "_")] = matched[2]
    return variables


async def authenticate(
    stream: MessageStream, user: str, credential: Credential, server_secret: bytes
) -> None:
    """Return once the client has proved to be ``user``. A role without a password is open to
    clients of this machine alone.

    An unknown user goes through the same exchange as a user with a password, and fails at its end.
    Raises ``AuthenticationFailed``, ``ConnectionRefused``, ``ProtocolViolation``.
    """
    if not stream.is_local and not stream.is_encrypted:
        raise ConnectionRefused(
            f'connection of user "{user}" is not encrypted',
            sqlstate="28000",
            hint="use sslmode=require",
        )
    if credential.is_open and stream.is_local:
        return
    scram = Scram(user, credential.verifier, server_secret)
    stream.send(messages.authentication_sasl([MECHANISM]))
    answer = scram.first(await _password(stream))
    stream.send(messages.authentication_sasl_continue(answer))
    stream.send(messages.authentication_sasl_final(scram.last(await _password(stream))))


async def _password(stream: MessageStream) -> bytes:
    await stream.flush()
    message = await stream.message()
    if isinstance(message, messages.Password):
        return message.body
    if isinstance(message, messages.Terminate):
        raise AuthenticationFailed("")
    raise ProtocolViolation("expected a SASL response")

"""Authentication of HTTP requests for more than metrics: they need a superuser, by the rules of the
SQL port."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from reclock.catalog.roles import is_superuser
from reclock.config.loopback import is_loopback
from reclock.consensus.credentials.verifiers import Verifier
from reclock.runtime.stores import Stores
from reclock.server.handshake import credential_of
from reclock.sql.names import DEFAULT_USER

Request = Mapping[str, Any]
"""A WSGI environment."""


class HttpRefused(Exception):
    """The request is answered with ``status``, ``text`` and ``headers``."""

    def __init__(self, status: HTTPStatus, text: str, *headers: tuple[str, str]) -> None:
        super().__init__(text)
        self.status, self.text, self.headers = status, text, headers


def authenticated_superuser(request: Request, stores: Stores) -> str:
    """The name of the superuser who sent the request, with HTTP's basic authentication.

    As at the SQL port, a role without a password is open to clients of this machine alone, and a
    password is not accepted from another machine unless the request is encrypted. Raises
    ``HttpRefused``.
    """
    origin = request.get("HTTP_ORIGIN")
    if origin is not None and urlsplit(origin).netloc != request.get("HTTP_HOST"):
        raise HttpRefused(HTTPStatus.FORBIDDEN, "a page of another site sent the request")
    is_local = _is_local(request)
    if not is_local and request["wsgi.url_scheme"] != "https":
        raise HttpRefused(HTTPStatus.FORBIDDEN, "other machines are answered over https alone")
    user, password = _credentials(request)
    verifiers = stores.passwords.get_all()
    catalog = stores.catalog.sync()
    role = catalog.role_by_name(user)
    credential = credential_of(role, verifiers)
    is_proved = is_local and credential.is_open
    if credential.verifier is not None and password is not None:
        is_proved = _is_password(password, Verifier.parse(credential.verifier))
    if role is None or not is_proved:
        challenge = ("WWW-Authenticate", 'Basic realm="reclock", charset="UTF-8"')
        raise HttpRefused(
            HTTPStatus.UNAUTHORIZED, "the name or password of a role is needed", challenge
        )
    if not is_superuser(catalog, role.id):
        raise HttpRefused(HTTPStatus.FORBIDDEN, f'role "{user}" is not a superuser')
    return user


def _is_local(request: Request) -> bool:
    """Whether a program on this machine sent the request, and asked for this machine: no proxy
    passed it on, and no other name that a site gave to this address made a browser send it."""
    if not is_loopback(request["REMOTE_ADDR"]) or "HTTP_X_FORWARDED_FOR" in request:
        return False
    return is_loopback(urlsplit(f"//{request.get('HTTP_HOST', '')}").hostname or "")


def _credentials(request: Request) -> tuple[str, str | None]:
    scheme, _, encoded = request.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "basic":
        return DEFAULT_USER, None
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, "malformed credentials") from None
    return user, password


def _is_password(password: str, verifier: Verifier) -> bool:
    """Whether the verifier is of this password (RFC 5802)."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), verifier.salt, verifier.iterations)
    client_key = hmac.digest(salted, b"Client Key", hashlib.sha256)
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), verifier.stored_key)

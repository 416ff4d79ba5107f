"""Responses of the HTTP addresses of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

StartResponse = Callable[..., Any]
"""What a WSGI server gives to an application."""


def respond(
    start_response: StartResponse,
    status: HTTPStatus,
    media_type: str,
    text: str,
    *headers: tuple[str, str],
) -> Iterable[bytes]:
    """``text`` as the body, which no browser stores or takes for another type."""
    standard_headers = [
        ("Content-Type", f"{media_type}; charset=utf-8"),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    start_response(f"{status.value} {status.phrase}", [*standard_headers, *headers])
    return [text.encode()]

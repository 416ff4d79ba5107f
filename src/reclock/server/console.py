"""The HTTP interface for superusers: pages about the environment, and steps of DAGs."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from reclock.errors import InvalidOption, ReclockError, StoreRolledBack, known_failure
from reclock.runtime.environment import Environment
from reclock.server.http_access import HttpRefused, Request, authenticated_superuser
from reclock.server.http_responses import StartResponse, respond
from reclock.server.pages import HtmlPage, Pages, unreadable_page
from reclock.server.warm_steps import WarmSteps

_MAX_BODY_BYTES = 1 << 20
_MAX_WAIT_S = 20.0
_STEPS = "/steps/"


class Console:
    """A WSGI application over an environment that this process has open.

    - ``GET /`` and below are the pages of ``reclock.server.pages``, ``POST`` a decision that was
      confirmed there.
    - ``POST /steps/<key>`` begins a step of a DAG, ``{"step": ..., "arguments": {...}}``, unless it
      is already running.
    - ``GET /steps/<key>?after=<lines>&wait=<seconds>`` returns the step's progress messages after
      the first ``after``, and its outcome.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._steps = WarmSteps(environment)
        self._pages = Pages(environment, root="/", secret=secrets.token_bytes(32))

    def __call__(self, request: Request, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._answer(request, start_response)
        except HttpRefused as refused:
            return respond(
                start_response, refused.status, "text/plain", refused.text, *refused.headers
            )

    def _answer(self, request: Request, start_response: StartResponse) -> Iterable[bytes]:
        method, path = request["REQUEST_METHOD"], request["PATH_INFO"]
        user = authenticated_superuser(request, self._environment.stores)
        if not path.startswith(_STEPS):
            return self._page(path.removeprefix("/"), request, user, start_response)
        key = path.removeprefix(_STEPS)
        if method == "POST":
            step, arguments = _requested_step(_body(request))
            try:
                self._steps.start(key, step, arguments)
            except InvalidOption as error:
                raise HttpRefused(HTTPStatus.BAD_REQUEST, error.message) from None
            return respond(start_response, HTTPStatus.ACCEPTED, "application/json", "{}")
        return self._progress(key, parse_qs(request.get("QUERY_STRING", "")), start_response)

    def _page(
        self, path: str, request: Request, user: str, start_response: StartResponse
    ) -> Iterable[bytes]:
        try:
            if request["REQUEST_METHOD"] == "POST":
                form = _fields(_body(request).decode(errors="replace"))
                page = self._pages.decide(path, form, user, role=user)
            else:
                page = self._pages.get(path, user, _fields(request.get("QUERY_STRING", "")))
        except Exception as failure:
            error = failure if isinstance(failure, ReclockError) else known_failure(failure)
            if error is None:
                raise
            page = unreadable_page(self._cause(error))
        return respond(start_response, page.status, "text/html", page.html, *_headers(page))

    def _cause(self, error: ReclockError) -> ReclockError:
        """What to tell of ``error``, which kept a page from being shown: that a store was lost or
        put back in time, if one was."""
        try:
            self._environment.stores.marks.check()
        except StoreRolledBack as loss:
            return loss
        except (ReclockError, OSError):  # a store cannot be read, as the error says
            pass
        return error

    def _progress(
        self, key: str, query: Mapping[str, list[str]], start_response: StartResponse
    ) -> Iterable[bytes]:
        try:
            after, wait_s = int(query.get("after", ["0"])[0]), float(query.get("wait", ["0"])[0])
        except ValueError:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, "after and wait are numbers") from None
        progress = self._steps.progress(key, after=max(after, 0), wait_s=min(wait_s, _MAX_WAIT_S))
        if progress is None:
            raise HttpRefused(HTTPStatus.NOT_FOUND, "this process knows no such step")
        return respond(start_response, HTTPStatus.OK, "application/json", json.dumps(progress))


def _fields(encoded: str) -> dict[str, str]:
    """The fields of a form or an address, each with its first value."""
    return {name: values[0] for name, values in parse_qs(encoded).items()}


def _headers(page: HtmlPage) -> list[tuple[str, str]]:
    location = [("Location", page.location)] if page.location is not None else []
    return [("Content-Security-Policy", page.policy), *location]


def _requested_step(body: bytes) -> tuple[str, dict[str, Any]]:
    try:
        match json.loads(body):
            case {"step": str(step), "arguments": dict(arguments)}:
                return step, arguments
    except ValueError:
        pass
    raise HttpRefused(HTTPStatus.BAD_REQUEST, 'the body is {"step": ..., "arguments": {...}}')


def _body(request: Request) -> bytes:
    length = int(request.get("CONTENT_LENGTH") or 0)
    if length > _MAX_BODY_BYTES:
        raise HttpRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too long")
    body: bytes = request["wsgi.input"].read(length)
    return body

"""A registry that wants to know who asks, and one that has lost what its schemas refer to."""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from reclock.errors import ExtraNotInstalled, UpstreamUnavailable, known_failure
from reclock.formats import schema_registry as registry

ALLOWED = "reader:marmalade-abacus"


Answer = tuple[int, Any]


@contextmanager
def served(answer: Callable[[BaseHTTPRequestHandler], Answer]) -> Iterator[str]:
    """The URL of a registry that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, found = answer(self)
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_registry_is_told_who_asks_and_no_error_tells_the_password() -> None:
    def answer(request: BaseHTTPRequestHandler) -> Answer:
        is_allowed = (
            request.headers.get("Authorization")
            == "Basic " + base64.b64encode(ALLOWED.encode()).decode()
        )
        return (
            (200, ["one"]) if is_allowed else (401, {"error_code": 401, "message": "Unauthorized"})
        )

    with served(answer) as url:
        settings = {"url": url, "timeout": 10, "max.retries": 0}
        assert registry.subjects(settings | {"basic.auth.user.info": ALLOWED}) == ["one"]
        for more in ({}, {"basic.auth.user.info": "reader:cushion-lantern"}):
            with pytest.raises(UpstreamUnavailable) as refused:
                registry.subjects(settings | more)
            assert "cushion-lantern" not in f"{refused.value.message} {refused.value.detail}"


def test_what_a_schema_refers_to_comes_with_it_and_what_is_missing_is_named() -> None:
    schemas: dict[str, Any] = {
        "/schemas/ids/7": {"schema": "seven", "references": [_reference("b"), _reference("a")]},
        "/subjects/b-subject/versions/1": {"schema": "of b", "references": [_reference("a")]},
        "/subjects/a-subject/versions/1": {"schema": "of a"},
        "/schemas/ids/8": {"schema": "eight", "references": [_reference("b"), _reference("lost")]},
    }

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        path = request.path.partition("?")[0]
        if path not in schemas:
            return 404, {"error_code": 40402, "message": "Version not found"}
        return 200, {"subject": "x", "version": 1, "id": 1, **schemas[path]}

    with served(answer) as url:
        settings = {"url": url, "timeout": 10, "max.retries": 0}
        assert registry.schema(settings, 7) == registry.RegisteredSchema(
            "seven", (("a", "of a"), ("b", "of b"))
        )
        with pytest.raises(
            registry.UnknownSchema,
            match='no version 1 of "lost-subject", to which a schema refers as "lost"',
        ):
            registry.schema(settings, 8)
        schemas["/subjects/lost-subject/versions/1"] = {"schema": "found again"}
        assert ("lost", "found again") in registry.schema(settings, 8).imports


def _reference(name: str) -> dict[str, Any]:
    return {"name": name, "subject": f"{name}-subject", "version": 1}


def test_a_missing_library_is_not_an_unreachable_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("confluent_kafka", "confluent_kafka.schema_registry"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError) as missing:
        registry.subjects({"url": "http://127.0.0.1:1", "timeout": 1})
    assert isinstance(known_failure(missing.value), ExtraNotInstalled)

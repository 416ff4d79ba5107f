"""A registry that wants to know who asks."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from reclock.errors import UpstreamUnavailable
from reclock.sources import registry

ALLOWED = "reader:marmalade-abacus"


@pytest.fixture
def url() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_allowed = self.headers.get("Authorization") == "Basic " + base64.b64encode(ALLOWED.encode()).decode()
            body = b'["one"]' if is_allowed else b'{"error_code": 401, "message": "Unauthorized"}'
            self.send_response(200 if is_allowed else 401)
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


def test_a_registry_is_told_who_asks_and_no_error_tells_the_password(url: str) -> None:
    settings = {"url": url, "timeout": 10, "max.retries": 0}
    assert registry.subjects(settings | {"basic.auth.user.info": ALLOWED}) == ["one"]
    for more in ({}, {"basic.auth.user.info": "reader:cushion-lantern"}):
        with pytest.raises(UpstreamUnavailable) as refused:
            registry.subjects(settings | more)
        assert "cushion-lantern" not in f"{refused.value.message} {refused.value.detail}"

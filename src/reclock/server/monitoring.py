"""The HTTP address of a process: ``/metrics``, ``/healthz`` and ``/readyz``, and the paths of an
application."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, make_wsgi_app

from reclock.adapter.query.metrics import EnvironmentCollector
from reclock.config.loopback import is_loopback
from reclock.config.ports import PortSettings
from reclock.errors import (
    ConfigurationError,
    InvalidOption,
    ReclockError,
    UnsafeHttpListener,
    known_failure,
)
from reclock.runtime.environment import Environment
from reclock.server.http_responses import StartResponse, respond
from reclock.server.ports import cannot_listen
from reclock.server.tls import tls_context

_log = structlog.get_logger(__name__)
_LOOPBACK = "127.0.0.1"
_CLIENT_TIMEOUT_S = 30
_HTTPS = "https://"

Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]
"""A WSGI application."""


def split_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``, ``[IPV6]:PORT``, or ``PORT`` on loopback. Raises
    ``InvalidOption``."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        hint = "write HOST:PORT, such as 127.0.0.1:9187; port 0 takes a free one"
        raise InvalidOption(f'"{text}" is not an address', hint=hint)
    return host.removeprefix("[").removesuffix("]") or _LOOPBACK, int(port)


class Monitor:
    """Answers HTTP requests about the environment that this process has open, in threads of its
    own.

    - ``/healthz`` is 200 while the process can answer at all.
    - ``/readyz`` is 200 if the process has joined the environment, can read its catalog, and finds
      both stores as they were left, otherwise 503.
    - ``/metrics`` are the metrics in a format of Prometheus, or 503 if they cannot be read.
    - The application, if there is one, answers all other paths.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        """Listen, only for encrypted requests if there is ``tls``. Raises ``ConfigurationError``."""
        self._environment: Environment | None = None
        self._application: Application | None = None
        self._metrics: Callable[..., Iterable[bytes]] | None = None
        self._guard = threading.Lock()
        try:
            self._server = _listen(host, port, tls)
        except OSError as error:
            raise cannot_listen(host, port, error, protocol="HTTP") from error
        self._server.set_app(self._answer)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="monitoring", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """``HOST:PORT``, with the port that the system chose for port 0."""
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    @contextmanager
    def watching(
        self,
        environment: Environment,
        replica_id: int | None = None,
        application: Application | None = None,
    ) -> Iterator[None]:
        """In the block, answer about ``environment``; a replica shows its own measurements. An
        ``application`` answers all other paths."""
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(EnvironmentCollector(environment, replica_id))
        with self._guard:
            self._environment, self._metrics = environment, make_wsgi_app(registry)
            self._application = application
        try:
            yield
        finally:
            with self._guard:  # waits for a scrape, which needs the stores
                self._environment = self._metrics = self._application = None

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        is_monitored = request["PATH_INFO"] in _MONITORED
        if not is_monitored and self._environment is None:
            return _not_joined(start_response)
        application = None if is_monitored else self._application
        if application is None and request["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _text(
                start_response,
                HTTPStatus.METHOD_NOT_ALLOWED,
                "only GET is answered",
                ("Allow", "GET, HEAD"),
            )
        try:
            if application is not None:
                return application(request, start_response)
            match request["PATH_INFO"]:
                case "/healthz":
                    return _text(start_response, HTTPStatus.OK, "ok")
                case "/readyz":
                    return self._readiness(start_response)
                case "/metrics":
                    return self._scrape(request, start_response)
        except Exception as failure:
            error = failure if isinstance(failure, ReclockError) else known_failure(failure)
            if error is not None:
                return _text(start_response, HTTPStatus.SERVICE_UNAVAILABLE, _reason(error))
            _log.error(
                "HTTP request failed unexpectedly", path=request["PATH_INFO"], exc_info=failure
            )
            return _text(start_response, HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")
        return _text(
            start_response, HTTPStatus.NOT_FOUND, "there are /metrics, /healthz and /readyz"
        )

    def _readiness(self, start_response: StartResponse) -> Iterable[bytes]:
        with self._guard:
            if self._environment is None:
                return _not_joined(start_response)
            stores = self._environment.stores
            stores.catalog.sync()
            stores.marks.check()
        return _text(start_response, HTTPStatus.OK, "ready")

    def _scrape(self, request: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        with self._guard:
            if self._metrics is None:
                return _not_joined(start_response)
            return self._metrics(request, start_response)


_MONITORED = ("/metrics", "/healthz", "/readyz")


@contextmanager
def monitoring(
    address: str, settings: PortSettings, number: int = 0, *, is_optional: bool = False
) -> Iterator[Monitor | None]:
    """A monitor at ``address`` for the block; None if the address is empty. ``number`` is added to
    a port other than 0. An address that begins with ``https://`` is encrypted with the configured
    certificate.

    If it cannot listen, raises ``ConfigurationError``; if it ``is_optional``, logs that and yields
    None. Raises ``InvalidOption`` for a malformed address or a missing certificate,
    ``ConfigurationError`` for an unreadable one, and ``UnsafeHttpListener`` for an address that
    other machines can reach, unless ``http_remote`` allows it.
    """
    if not address:
        yield None
        return
    is_encrypted = address.startswith(_HTTPS)
    tls = tls_context(settings) if is_encrypted else None
    if is_encrypted and tls is None:
        hint = "set tls_certificate, or write the address without https://"
        raise InvalidOption(f'there is no certificate for "{address}"', hint=hint)
    host, port = split_address(address.removeprefix(_HTTPS))
    if not settings.http_remote and not is_loopback(host):
        raise UnsafeHttpListener(host)
    try:
        monitor = Monitor(host, port + number if port else 0, tls)
    except ConfigurationError as error:
        if not is_optional:
            raise
        _log.warning("not monitored over HTTP", error=error.message, detail=error.detail)
        yield None
        return
    _log.info("monitored over HTTP", address=monitor.address)
    try:
        yield monitor
    finally:
        monitor.close()


class _HttpServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    tls: ssl.SSLContext | None = None

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a request, after its TLS handshake. The handshake runs in the thread of the request,
        so that a client that does not finish it delays no other."""
        if self.tls is not None:
            try:
                request.settimeout(_CLIENT_TIMEOUT_S)
                request = self.tls.wrap_socket(request, server_side=True)
            except OSError as error:
                _log.debug("HTTPS connection failed", error=str(error))
                self.shutdown_request(request)
                return
        super().process_request_thread(request, client_address)


class _HttpServer6(_HttpServer):
    address_family = socket.AF_INET6


class _QuietHandler(WSGIRequestHandler):
    """Logs no request, and gives up on a client that sends none."""

    timeout = _CLIENT_TIMEOUT_S

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _listen(host: str, port: int, tls: ssl.SSLContext | None) -> WSGIServer:
    [(family, *_), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    server = (_HttpServer6 if family == socket.AF_INET6 else _HttpServer)(
        (host, port), _QuietHandler
    )
    server.tls = tls
    # wsgiref derives wsgi.url_scheme from it
    server.base_environ["HTTPS"] = "on" if tls is not None else "off"
    return server


def _reason(error: ReclockError) -> str:
    return f"{error.message}: {error.detail}" if error.detail else error.message


def _not_joined(start_response: StartResponse) -> Iterable[bytes]:
    return _text(
        start_response, HTTPStatus.SERVICE_UNAVAILABLE, "the process has not joined the environment"
    )


def _text(
    start_response: StartResponse, status: HTTPStatus, text: str, *headers: tuple[str, str]
) -> Iterable[bytes]:
    return respond(start_response, status, "text/plain", f"{text}\n", *headers)

"""Spans of ticks and statements, for OpenTelemetry.

The variables of OpenTelemetry configure it: spans are sent if one of them names an endpoint, and
cost next to nothing otherwise. A span has names and numbers, but no text of a statement and no
values.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import structlog

from reclock.errors import ReclockError, extra_not_installed

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_FLUSHED_WITHIN_MS = 2_000

_lock = threading.Lock()
_tracers: list[Tracer | None] = []
"""The process's tracer, or None if nothing is traced; empty until that is known."""
_providers: list[TracerProvider] = []
"""The provider that this module has made."""

_logger = structlog.get_logger(__name__)


def span(name: str, /, **attributes: str | int) -> AbstractContextManager[None]:
    """In the block, this thread's work is a span, within the one that it is in already. If the
    block fails, the span has the SQLSTATE."""
    tracer = _tracer()
    return _UNTRACED if tracer is None else _traced(tracer, name, attributes)


_UNTRACED = nullcontext()


@contextmanager
def _traced(tracer: Tracer, name: str, attributes: Mapping[str, str | int]) -> Iterator[None]:
    from opentelemetry.trace import StatusCode

    named = {f"reclock.{key}": value for key, value in attributes.items()}
    with tracer.start_as_current_span(
        name, attributes=named, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except ReclockError as error:
            current.set_status(StatusCode.ERROR, error.sqlstate)
            raise
        except BaseException as error:
            current.set_status(StatusCode.ERROR, type(error).__name__)
            raise


def flush() -> None:
    """Send the spans that have ended, to a collector that responds within two seconds."""
    if _providers:
        _providers[0].force_flush(_FLUSHED_WITHIN_MS)


def _tracer() -> Tracer | None:
    if not _tracers:
        with _lock:
            if not _tracers:
                _tracers.append(_make_tracer() if _is_wanted() else None)
    return _tracers[0]


def _is_wanted() -> bool:
    is_disabled = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not is_disabled and any(os.environ.get(name) for name in _ENDPOINTS)


def _make_tracer() -> Tracer | None:
    """A tracer of the provider that the process has, as in Airflow's tasks, or else of a new
    one."""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as missing:
        error = extra_not_installed(missing)
        _logger.warning("nothing is traced", error=str(error or missing), hint=error and error.hint)
        return None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "reclock"}
        provider = TracerProvider(resource=Resource.create(named))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
        _providers.append(provider)
    return trace.get_tracer("reclock")

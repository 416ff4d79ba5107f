"""Ticks and statements as spans, as a collector of OpenTelemetry is sent them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fixtures import forks
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SOURCE = (
    "CREATE SOURCE a (k text) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN 'a' "
    "FORMAT CSV WITH HEADER"
)
QUERY = "SELECT k FROM a WHERE k <> 'a secret'"


@contextmanager
def collector() -> Iterator[tuple[str, list[Any]]]:
    """The address of a collector, and the spans that it has been sent."""
    spans: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *values: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", spans
        server.shutdown()


def test_ticks_and_statements_are_traced_without_what_users_wrote(tmp_path: Path) -> None:
    home = ("--home", str(tmp_path / "home"))
    bucket = tmp_path / "home" / "buckets" / "a"
    assert forks.command("init", *home) == 0
    bucket.mkdir(parents=True)
    (bucket / "object.csv").write_text("k\nx\n")
    assert forks.command("sql", *home, "-c", SOURCE) == 0
    with collector() as (address, spans):
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": address}
        assert forks.command("tick", *home, **variables) == 0
        by_name = {span.name: span for span in spans}
        tick = by_name["tick"]
        stages = ["allocate", "ingest", "audit", "publish", "refresh", "emit"]
        assert [by_name[stage].parent_span_id for stage in stages] == [tick.span_id] * 6
        # the thread that reads a source goes on with the trace
        assert by_name["source"].parent_span_id == by_name["ingest"].span_id
        assert by_name["source"].trace_id == tick.trace_id
        assert attributes(by_name["source"])["reclock.name"] == "reclock.public.a"

        spans.clear()
        query = forks.completed("sql", *home, "-c", QUERY, "-c", "SELECT 1 / 0", **variables)
        assert "division by zero" in query.stderr
        statements = [span for span in spans if span.name == "statement"]
        assert [statement.status.message for statement in statements] == ["", "22012"]
        inner = {span.name for span in spans if span.parent_span_id == statements[0].span_id}
        assert inner >= {"plan", "peek"}
        assert not any("secret" in str(span) for span in spans)


def attributes(span: Any) -> dict[str, str]:
    return {pair.key: pair.value.string_value for pair in span.attributes}

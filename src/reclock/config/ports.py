"""The ports that processes listen on, and what they log."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class PortSettings(BaseModel):
    max_connections: int = Field(
        default=100, gt=0, description="clients that the SQL port serves at the same time"
    )
    max_message_bytes: int = Field(
        default=64 << 20,
        gt=0,
        description="longest message that the SQL port accepts from a client",
    )
    tls_certificate: str = Field(
        default="",
        description="PEM file of the certificate chain of the SQL port and the HTTP ports; no TLS if "
        "empty",
    )
    tls_key: str = Field(
        default="",
        description="PEM file of its private key; in the file of the certificate if empty",
    )
    serve_http: str = Field(
        default="",
        description="HOST:PORT at which `reclock serve` answers over HTTP, or https://HOST:PORT: "
        "/metrics, /healthz, /readyz, and "
        "steps of DAGs; nowhere if empty",
    )
    tick_http: str = Field(
        default="",
        description=(
            "the same for `reclock tick --every`, which answers /metrics, /healthz and "
            "/readyz alone"
        ),
    )
    replica_http: str = Field(
        default="",
        description=(
            "the same for replicas; of several on one machine, the first gets the port, port "
            "0 is a free one"
        ),
    )
    http_remote: bool = Field(
        default=False,
        description=(
            "whether these HTTP ports may be on other addresses than loopback; metrics and probes "
            "need no password"
        ),
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="least severe level that is logged"
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="text for people, or json: an object a line, for programs"
    )

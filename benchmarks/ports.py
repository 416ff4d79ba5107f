"""Ports for the servers that a benchmark starts."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A TCP port of the loopback address that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port

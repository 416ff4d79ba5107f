"""Ports that a process cannot listen on."""

from __future__ import annotations

import errno

from reclock.errors import ConfigurationError


def cannot_listen(
    host: str, port: int, error: OSError, *, protocol: str = ""
) -> ConfigurationError:
    """The error for a port of ``protocol``, or of SQL if none is given."""
    for_protocol = f" for {protocol}" if protocol else ""
    return ConfigurationError(
        f'cannot listen{for_protocol} on "{host}", port {port}',
        detail=error.strerror,
        hint="end the process that listens there, or choose another port"
        if error.errno == errno.EADDRINUSE
        else None,
    )

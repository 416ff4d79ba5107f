"""The certificate with which every port of a process answers: the SQL port and the HTTP port."""

from __future__ import annotations

import ssl

from reclock.config.ports import PortSettings
from reclock.errors import ConfigurationError


def tls_context(settings: PortSettings) -> ssl.SSLContext | None:
    """TLS 1.2 and later with the configured certificate; None if there is none. Raises
    ``ConfigurationError``."""
    if not settings.tls_certificate and not settings.tls_key:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            "the TLS certificate or its key cannot be read", detail=str(error)
        ) from error
    return context

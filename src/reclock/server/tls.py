"""The certificate with which every port of a process answers: the SQL port and the HTTP port."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import structlog
from cryptography.x509 import load_pem_x509_certificate

from reclock.config.ports import PortSettings
from reclock.errors import ConfigurationError

_log = structlog.get_logger(__name__)


def tls_context(settings: PortSettings) -> ssl.SSLContext | None:
    """TLS 1.2 and later with the configured certificate; None if there is none. Logs a warning
    about one that clients will not accept because of its dates. Raises ``ConfigurationError``."""
    if not settings.tls_certificate and not settings.tls_key:
        return None
    certificate, key = settings.tls_certificate, settings.tls_key or settings.tls_certificate
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2

    def passphrase() -> str:
        raise ConfigurationError(
            f'the TLS key in "{key}" is encrypted',
            hint="a server asks for no passphrase: openssl pkey writes the key without one",
        )

    try:
        pem = _content(certificate, "tls_certificate")
        _content(key, "tls_key")
        context.load_cert_chain(certificate, key, password=passphrase)
    except ssl.SSLError as error:
        is_of_another = error.reason == "KEY_VALUES_MISMATCH"
        raise ConfigurationError(
            f'the TLS certificate in "{certificate}" or its key in "{key}" cannot be read',
            detail="the key is that of another certificate" if is_of_another else str(error),
            hint="both are PEM files: first the server's certificate, then those that signed it",
        ) from error
    _warn_of_dates(certificate, pem)
    return context


def _content(path: str, setting: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f'the file "{path}" of the setting {setting} cannot be read', detail=error.strerror
        ) from error


def _warn_of_dates(path: str, pem: bytes) -> None:
    certificate, now = load_pem_x509_certificate(pem), datetime.now(UTC)
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not begins <= now <= ends:
        _log.warning(
            "clients will not accept the TLS certificate: it is not valid now",
            certificate=path,
            valid_from=begins.isoformat(),
            valid_to=ends.isoformat(),
        )

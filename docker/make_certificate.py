"""Make a key and a certificate for the host names and addresses on the command line, in a new
folder. Nothing happens if the folder is there.

    python make_certificate.py FOLDER NAME…

`FOLDER/server.pem` has the key and the certificate, for the server; `FOLDER/certificate.pem` the
certificate alone, which clients trust. It signs itself, and is valid for ten years.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

_VALID = timedelta(days=3650)


def main(folder: Path, names: Sequence[str]) -> None:
    if folder.exists():
        return
    key, certificate = make(names, datetime.now(UTC))
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True, mode=0o755)
    (unfinished / "certificate.pem").write_bytes(certificate)
    server = os.open(unfinished / "server.pem", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(server, "wb") as file:
        file.write(key + certificate)
    unfinished.rename(folder)  # whole or not at all, also if this process is killed


def make(names: Sequence[str], now: datetime) -> tuple[bytes, bytes]:
    """A new key, and its certificate for these names and addresses, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "reclock")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(hours=1),  # clocks differ
        not_valid_after=now + _VALID,
    )
    for extension, is_critical in (
        (x509.SubjectAlternativeName([_general_name(name) for name in names]), False),
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (identifier, False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False),
    ):
        builder = builder.add_extension(extension, critical=is_critical)
    certificate = builder.sign(key, SHA256())
    return (
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        certificate.public_bytes(Encoding.PEM),
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

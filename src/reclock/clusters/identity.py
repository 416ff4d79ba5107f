"""The identity of a replica's incarnation: a TLS key and certificate, both derived from its token.

Both ends read the token in consensus, and need to share nothing else. The replica serves with the
key. A caller trusts only this certificate, so it sends the token only to a process that has it too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha512

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

NAME = "replica.reclock"
"""The host name in every certificate. A replica's real host does not matter, only that it has the
key."""

_ORDER_OF_P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
# it ends with its incarnation, whatever the clocks of machines say
_ALWAYS = datetime(2000, 1, 1), datetime(9999, 12, 31)


@dataclass(frozen=True, slots=True)
class Identity:
    certificate: bytes
    """In PEM, self-signed. It is the same wherever it is derived."""
    key: bytes = field(repr=False)
    """In PEM."""


def identity(token: str) -> Identity:
    """The identity of the incarnation with this token, which must be as hard to guess as a key."""
    digest = int.from_bytes(sha512(b"reclock replica " + token.encode()).digest())
    key = ec.derive_private_key(digest % (_ORDER_OF_P256 - 1) + 1, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    builder = (
        x509.CertificateBuilder(
            subject_name=name, issuer_name=name, public_key=key.public_key(), serial_number=1
        )
        .not_valid_before(_ALWAYS[0])
        .not_valid_after(_ALWAYS[1])
    )
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.sign(key, SHA256(), ecdsa_deterministic=True)
    return Identity(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )

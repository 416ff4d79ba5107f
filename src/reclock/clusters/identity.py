"""Who an incarnation of a replica is on the wire: a TLS key and certificate that follow from its token alone.

Consensus, where both ends read the token, is all they have to share: the replica serves with the key, and a caller trusts this
certificate and no other, so that it says the token only to who has it too.
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
"""What every certificate is for: which host a replica has does not matter, only that it has the key."""

_ORDER_OF_P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_ALWAYS = datetime(2000, 1, 1), datetime(9999, 12, 31)  # it ends with its incarnation, whatever the clocks of machines say


@dataclass(frozen=True, slots=True)
class Identity:
    certificate: bytes
    """In PEM, signed by its own key; equal wherever it is made."""
    key: bytes = field(repr=False)
    """In PEM."""


def identity(token: str) -> Identity:
    """That of the incarnation with this token, which must be as hard to guess as a key."""
    digest = int.from_bytes(sha512(b"reclock replica " + token.encode()).digest())
    key = ec.derive_private_key(digest % (_ORDER_OF_P256 - 1) + 1, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    builder = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key(), serial_number=1)
        .not_valid_before(_ALWAYS[0])
        .not_valid_after(_ALWAYS[1])
    )
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.sign(key, SHA256(), ecdsa_deterministic=True)
    return Identity(certificate.public_bytes(Encoding.PEM), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

"""Both ends of a connection to a replica make the same certificate of its token, and nobody makes
it of another."""

from __future__ import annotations

from cryptography import x509

from reclock.clusters.identity import identity


def test_it_follows_from_the_token_alone() -> None:
    first, again, other = identity("a" * 43), identity("a" * 43), identity("a" * 42 + "b")
    assert first == again
    assert first.certificate != other.certificate
    assert first.key != other.key


def test_it_signs_itself_and_does_not_show_its_key() -> None:
    made = identity("a" * 43)
    certificate = x509.load_pem_x509_certificate(made.certificate)
    certificate.verify_directly_issued_by(certificate)
    assert "PRIVATE" not in repr(made)

"""``inet`` and ``cidr``: addresses and networks (`algebra.networks`); ``macaddr``."""

from __future__ import annotations

import re

from reclock.algebra.networks import (
    Network,
    cidr_text,
    inet_text,
    read_cidr,
    read_inet,
)
from reclock.algebra.relations import CIDR, INET, MACADDR
from reclock.algebra.textual.description import TextualType
from reclock.errors import InvalidText

_FAMILIES = {4: 2, 6: 3}
"""The byte of the binary format, by version (``inet.h``)."""


def _to_binary(text: str, *, is_cidr: bool) -> bytes:
    """Family, bits of the prefix, whether it is a ``cidr``, bytes of the address, and these."""
    network = read_inet(text)
    length = network.size // 8
    head = bytes([_FAMILIES[network.version], network.prefix, is_cidr, length])
    return head + network.address.to_bytes(length, "big")


def _of_binary(raw: bytes) -> Network:
    family, prefix, _, length = raw[:4]
    version = {number: version for version, number in _FAMILIES.items()}.get(family)
    if version is None or length != len(raw) - 4:
        raise ValueError("invalid address")
    network = Network(version, int.from_bytes(raw[4:], "big"), prefix)
    if length * 8 != network.size or prefix > network.size:
        raise ValueError("invalid address")
    return network


def _inet_of_binary(raw: bytes) -> str:
    return inet_text(_of_binary(raw))


def _cidr_of_binary(raw: bytes) -> str:
    network = _of_binary(raw)
    if not network.is_network:
        raise ValueError("bits after the prefix")
    return cidr_text(network)


INETS = TextualType(
    INET,
    oid=869,
    array_oid=1041,
    size=-1,
    category="I",
    functions=(910, 911, 2496, 2497),
    normal_form=lambda text: inet_text(read_inet(text)),
    to_binary=lambda text: _to_binary(text, is_cidr=False),
    from_binary=_inet_of_binary,
    has_extremes=True,
)
CIDRS = TextualType(
    CIDR,
    oid=650,
    array_oid=651,
    size=-1,
    category="I",
    functions=(1267, 1427, 2498, 2499),
    normal_form=lambda text: cidr_text(read_cidr(text)),
    to_binary=lambda text: _to_binary(text, is_cidr=True),
    from_binary=_cidr_of_binary,
    has_extremes=True,
)


_FORMS = re.compile(
    r"\s*(?:"
    r"[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){5}|[0-9a-f]{1,2}(?:-[0-9a-f]{1,2}){5}|"
    r"[0-9a-f]{6}[:-][0-9a-f]{6}|(?:[0-9a-f]{4}[.-]){2}[0-9a-f]{4}|[0-9a-f]{12}"
    r")\s*",
    re.ASCII | re.IGNORECASE,
)
"""The groups of digits that PostgreSQL reads. Digits may be missing between six groups alone."""


def _hardware_address(text: str) -> str:
    """Six groups of lower-case digits. Raises ``InvalidText``."""
    if not _FORMS.fullmatch(text):
        raise InvalidText(MACADDR.name, text)
    groups = re.split("[:.-]", text.strip().lower())
    digits = "".join(group.zfill(2) for group in groups) if len(groups) == 6 else "".join(groups)
    return _with_colons(bytes.fromhex(digits))


def _with_colons(raw: bytes) -> str:
    if len(raw) != 6:
        raise ValueError("invalid address")
    return raw.hex(":")


MACADDRS = TextualType(
    MACADDR,
    oid=829,
    array_oid=1040,
    size=6,
    category="U",
    functions=(436, 437, 2494, 2495),
    normal_form=_hardware_address,
    to_binary=lambda text: bytes.fromhex(text.replace(":", "")),
    from_binary=_with_colons,
)

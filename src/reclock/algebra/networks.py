"""Addresses of IPv4 and IPv6 with the length of their network's prefix, as PostgreSQL reads, writes,
orders and computes with them.

The functions of texts take and return normal forms: those of `inet_text`, or of `cidr_text` where
they say so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from reclock.errors import EvaluationError, InvalidText, NetworkHasHost

_SIZES = {4: 32, 6: 128}
"""The bits of an address, by version."""
_OCTETS = re.compile(r"0*[0-9]{1,3}(?:\.0*[0-9]{1,3}){0,3}", re.ASCII)
_CLASSES = ((240, 32), (224, 4), (192, 24), (128, 16), (0, 8))
"""The prefix of an IPv4 network that is written without one: by its least first octet."""


@dataclass(frozen=True, slots=True)
class Network:
    """An ``address`` of IP ``version`` 4 or 6 in a network of ``prefix`` bits."""

    version: int
    address: int
    prefix: int

    @property
    def size(self) -> int:
        """The bits of an address."""
        return _SIZES[self.version]

    @property
    def host_mask(self) -> int:
        return (1 << (self.size - self.prefix)) - 1

    @property
    def net_mask(self) -> int:
        return ((1 << self.size) - 1) ^ self.host_mask

    @property
    def network(self) -> Network:
        """The network, without the bits of the host."""
        return replace(self, address=self.address & self.net_mask)

    @property
    def is_network(self) -> bool:
        return not self.address & self.host_mask

    def host(self, address: int) -> Network:
        """Another address of the same version, alone."""
        return Network(self.version, address, self.size)

    def has(self, other: Network) -> bool:
        """Whether the network contains the other one, or is the same."""
        return (
            self.version == other.version
            and self.prefix <= other.prefix
            and self.network == replace(other, prefix=self.prefix).network
        )


def read_inet(text: str) -> Network:
    """Raises ``InvalidText``."""
    return _read(text, "inet")


def read_cidr(text: str) -> Network:
    """A network. Raises ``InvalidText``, and ``NetworkHasHost`` if bits after the prefix are set."""
    network = _read(text, "cidr")
    if not network.is_network:
        raise NetworkHasHost(text)
    return network


def _read(text: str, type_name: str) -> Network:
    written, slash, length = text.partition("/")
    has_zeros = len(length) > 1 and length.startswith("0") and ":" in written
    if slash and (has_zeros or not (length.isascii() and length.isdigit())):
        raise InvalidText(type_name, text)
    prefix = int(length.lstrip("0")[:9] or "0") if slash else None
    version, least, address = _address(written, text, type_name)
    if prefix is None:
        prefix = _written_without(version, least, address, text, type_name)
    if prefix > _SIZES[version] or (type_name == "inet" and least < prefix // 8 * 8):
        raise InvalidText(type_name, text)
    return Network(version, address, prefix)


def _address(written: str, text: str, type_name: str) -> tuple[int, int, int]:
    """Version, number of bits that are written, and address."""
    if ":" in written:
        try:
            if "%" in written:  # a zone is no part of an address here
                raise InvalidText(type_name, text)
            return 6, 128, int(IPv6Address(written))
        except AddressValueError as error:
            raise InvalidText(type_name, text) from error
    octets = (
        [int(octet[-3:]) for octet in written.split(".")] if _OCTETS.fullmatch(written) else [256]
    )
    if max(octets) > 255:
        raise InvalidText(type_name, text)
    return 4, 8 * len(octets), int.from_bytes(bytes(octets).ljust(4, b"\0"), "big")


def _written_without(version: int, bits: int, address: int, text: str, type_name: str) -> int:
    """The prefix of what is written without one."""
    if version == 6 or type_name == "inet":
        if bits != _SIZES[version]:
            raise InvalidText(type_name, text)
        return bits
    of_class = next(prefix for least, prefix in _CLASSES if address >> 24 >= least)
    return max(of_class, bits) if of_class >= 8 else of_class


def address_text(network: Network) -> str:
    """The address alone. The last 32 bits of one of IPv6 are written as of IPv4 if all before are
    zero, or but 16 that are one."""
    if network.version == 4:
        return str(IPv4Address(network.address))
    high, low = divmod(network.address, 1 << 32)
    if high == 0xFFFF or (high == 0 and low >> 16):
        return f"::{'ffff:' if high else ''}{IPv4Address(low)}"
    return IPv6Address(network.address).compressed


def inet_text(network: Network) -> str:
    """The normal form of ``inet``, without the prefix of an address alone."""
    return address_text(network) if network.prefix == network.size else cidr_text(network)


def cidr_text(network: Network) -> str:
    """The normal form of ``cidr``, with the prefix."""
    return f"{address_text(network)}/{network.prefix}"


def order_key(text: str) -> str:
    """A text that sorts as PostgreSQL orders networks: version, bits of the prefix, its length, and
    then the whole address."""
    network = read_inet(text)
    bits = format(network.address, f"0{network.size}b")
    return f"{network.version}{bits[: network.prefix]} {bits[network.prefix :]}"


# --- functions of PostgreSQL ---


def as_cidr(text: str) -> str:
    """The network of an address, as ``cidr``."""
    return cidr_text(read_inet(text).network)


def as_inet(text: str) -> str:
    """A ``cidr`` as ``inet``."""
    return inet_text(read_inet(text))


def broadcast(text: str) -> str:
    network = read_inet(text)
    return inet_text(replace(network, address=network.address | network.host_mask))


def host_mask(text: str) -> str:
    network = read_inet(text)
    return inet_text(network.host(network.host_mask))


def net_mask(text: str) -> str:
    network = read_inet(text)
    return inet_text(network.host(network.net_mask))


def host(text: str) -> str:
    return address_text(read_inet(text))


def with_prefix(text: str, prefix: int) -> str:
    """The address in a network of another prefix; -1 is that of an address alone."""
    network = read_inet(text)
    return inet_text(replace(network, prefix=_checked_prefix(network, prefix)))


def cidr_with_prefix(text: str, prefix: int) -> str:
    """The network of another prefix around a ``cidr``, as ``cidr``."""
    network = read_inet(text)
    return cidr_text(replace(network, prefix=_checked_prefix(network, prefix)).network)


def _checked_prefix(network: Network, prefix: int) -> int:
    if not -1 <= prefix <= network.size:
        raise EvaluationError(f"invalid mask length: {prefix}", sqlstate="22023")
    return network.size if prefix == -1 else prefix


def abbreviated(text: str) -> str:
    """A ``cidr`` without the octets of an IPv4 network that are all zero."""
    network = read_inet(text)
    if network.version == 6:
        return text
    octets = address_text(network).split(".")[: max(1, -(-network.prefix // 8))]
    return f"{'.'.join(octets)}/{network.prefix}"


def merged(one: str, other: str) -> str:
    """The smallest network around both, as ``cidr``."""
    first, second = _of_one_version(one, other, "cannot merge addresses from different families")
    differing = (first.address ^ second.address).bit_length()
    prefix = min(first.prefix, second.prefix, first.size - differing)
    return cidr_text(replace(first, prefix=prefix).network)


def contains(one: str, other: str) -> bool:
    first, second = read_inet(one), read_inet(other)
    return first.has(second) and first.prefix < second.prefix


def contains_or_equals(one: str, other: str) -> bool:
    return read_inet(one).has(read_inet(other))


def overlaps(one: str, other: str) -> bool:
    first, second = read_inet(one), read_inet(other)
    return first.has(second) or second.has(first)


def is_same_family(one: str, other: str) -> bool:
    return read_inet(one).version == read_inet(other).version


def negated(text: str) -> str:
    """Every bit of the address the other way."""
    network = read_inet(text)
    return inet_text(replace(network, address=network.address ^ ((1 << network.size) - 1)))


def bits_of_both(one: str, other: str) -> str:
    first, second = _of_one_version(one, other, "cannot AND inet values of different sizes")
    return _combined(first, second, first.address & second.address)


def bits_of_either(one: str, other: str) -> str:
    first, second = _of_one_version(one, other, "cannot OR inet values of different sizes")
    return _combined(first, second, first.address | second.address)


def _combined(first: Network, second: Network, address: int) -> str:
    return inet_text(Network(first.version, address, max(first.prefix, second.prefix)))


def moved(text: str, places: int) -> str:
    """The address so many places further."""
    network = read_inet(text)
    address = network.address + places
    if not 0 <= address < 1 << network.size:
        raise EvaluationError("result is out of range", sqlstate="22003")
    return inet_text(replace(network, address=address))


def distance(one: str, other: str) -> str:
    """The places from the second address to the first, a bigint in digits."""
    message = "cannot subtract inet values of different sizes"
    first, second = _of_one_version(one, other, message)
    places = first.address - second.address
    if not -(1 << 63) <= places < 1 << 63:
        raise EvaluationError("result is out of range", sqlstate="22003")
    return str(places)


def _of_one_version(one: str, other: str, message: str) -> tuple[Network, Network]:
    first, second = read_inet(one), read_inet(other)
    if first.version != second.version:
        raise EvaluationError(message, sqlstate="22023")
    return first, second


def prefix_length(text: str) -> int:
    return read_inet(text).prefix


def family(text: str) -> int:
    """4 or 6."""
    return read_inet(text).version

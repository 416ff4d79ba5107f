"""Addresses that only processes of this machine reach."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine reach a port on this address. Of names, only
    ``localhost`` counts."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

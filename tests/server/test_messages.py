"""The codec: what a client writes is read back, and no bytes at all make it fail in any way but
one."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.errors import ProtocolViolation
from reclock.server import messages

names = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20)


def string(text: str) -> bytes:
    return text.encode() + b"\0"


@given(names, names, st.lists(st.integers(0, 2**32 - 1), max_size=5))
def test_parse(name: str, text: str, oids: list[int]) -> None:
    body = string(name) + string(text) + struct.pack(f"!H{len(oids)}I", len(oids), *oids)
    assert messages.read(b"P", body) == messages.Parse(name, text, tuple(oids))


formats = st.lists(st.sampled_from([0, 1]), max_size=4)


@given(names, names, formats, st.lists(st.none() | st.binary(max_size=9), max_size=4), formats)
def test_bind(
    portal: str,
    statement: str,
    parameter_formats: list[int],
    values: list[bytes | None],
    result_formats: list[int],
) -> None:
    def packed(codes: list[int]) -> bytes:
        return struct.pack(f"!H{len(codes)}h", len(codes), *codes)

    written = b"".join(
        b"\xff" * 4 if value is None else struct.pack("!i", len(value)) + value for value in values
    )
    body = (
        string(portal)
        + string(statement)
        + packed(parameter_formats)
        + struct.pack("!H", len(values))
        + written
        + packed(result_formats)
    )
    assert messages.read(b"B", body) == messages.Bind(
        portal, statement, tuple(parameter_formats), tuple(values), tuple(result_formats)
    )


@given(st.dictionaries(names.filter(bool), names, max_size=5))
def test_startup(parameters: dict[str, str]) -> None:
    body = (
        struct.pack("!I", messages.PROTOCOL_3_0 | 2)
        + b"".join(string(k) + string(v) for k, v in parameters.items())
        + b"\0"
    )
    assert messages.read_opening(body) == messages.Startup(2, parameters)


@given(st.binary(min_size=1, max_size=1), st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_violation(tag: bytes, body: bytes) -> None:
    for read in (lambda: messages.read(tag, body), lambda: messages.read_opening(body)):
        with contextlib.suppress(ProtocolViolation):
            read()


def test_what_is_cut_short_or_too_long_is_a_violation() -> None:
    body = string("p") + string("s") + struct.pack("!HHi", 0, 1, 5) + b"abc"
    for wrong in (
        body,
        string("p") + b"s",
        string("p") + string("s") + struct.pack("!HHH", 0, 0, 0) + b"x",
    ):
        with pytest.raises(ProtocolViolation):
            messages.read(b"B", wrong)

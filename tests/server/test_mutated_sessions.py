"""Sessions whose bytes were changed on the way: an error or a result, never a hang, a crash or
another session's data."""

from __future__ import annotations

import random
import socket
import struct

import pytest
from fixtures.server import SqlServer

SECRET = "only for its own session"


def message(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack("!I", len(body) + 4) + body


def startup() -> bytes:
    body = struct.pack("!I", 3 << 16) + b"user\0reclock\0database\0reclock\0\0"
    return struct.pack("!I", len(body) + 4) + body


def script(chance: random.Random) -> list[bytes]:
    """A well-formed session."""
    parts = []
    for number in range(chance.randint(1, 4)):
        name = f"s{number}".encode()
        parts += chance.choice(
            [
                [message(b"Q", b"SELECT n, name FROM numbers WHERE n < 5; SELECT 1\0")],
                [
                    message(b"Q", b"BEGIN\0"),
                    message(b"Q", b"SELECT 1 / 0\0"),
                    message(b"Q", b"ROLLBACK\0"),
                ],
                [message(b"Q", b"COPY (SELECT n FROM numbers WHERE n < 9) TO STDOUT\0")],
                [
                    message(
                        b"P", name + b"\0SELECT name FROM numbers WHERE n = $1\0\0\1\0\0\0\x17"
                    ),
                    message(b"D", b"S" + name + b"\0"),
                    message(b"B", b"p\0" + name + b"\0\0\1\0\1\0\1\0\0\0\4\0\0\0\7\0\1\0\1"),
                    message(b"D", b"Pp\0"),
                    message(b"E", b"p\0\0\0\0\1"),
                    message(b"E", b"p\0\0\0\0\0"),
                    message(b"C", b"Pp\0"),
                    message(b"H", b""),
                    message(b"S", b""),
                ],
            ]
        )
    return parts


def mutated(parts: list[bytes], chance: random.Random) -> bytes:
    parts = [startup(), *parts]
    kind = chance.choice(["flip", "cut", "repeat", "drop", "swap", "noise", "length"])
    at = chance.randrange(0 if kind in ("flip", "noise", "length") else 1, len(parts))
    part = bytearray(parts[at])
    match kind:
        case "flip":
            for _ in range(chance.randint(1, 4)):
                part[chance.randrange(len(part))] = chance.randrange(256)
        case "cut":
            del part[chance.randrange(len(part)) :]
        case "noise":
            part += chance.randbytes(chance.randint(1, 30))
        case "length":
            start = 0 if at == 0 else 1
            part[start : start + 4] = struct.pack(
                "!I", chance.choice([0, 3, 4, 5, 2**31, 2**32 - 1, len(part) + 3])
            )
        case "repeat":
            part *= 2
        case "drop":
            part.clear()
        case "swap":
            parts[at], parts[at - 1 or 1] = parts[at - 1 or 1], parts[at]
            part = bytearray(parts[at])
    parts[at] = bytes(part)
    return b"".join(parts)


def converse(port: int, sent: bytes) -> bytes:
    """All that the server answers, until it has nothing more to say to a client that says nothing
    more."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := client.recv(1 << 16):
                answer += piece
        except ConnectionError:
            return b""
        return answer


@pytest.fixture(scope="module")
def bystander(sql_server: SqlServer):
    """A session that keeps something of its own."""
    with sql_server.connect() as connection:
        connection.execute(f"PREPARE mine AS SELECT '{SECRET}'")
        connection.execute(f"SET application_name = '{SECRET}'")
        yield connection


def test_mutated_sessions(sql_server: SqlServer, bystander, request: pytest.FixtureRequest) -> None:
    count = request.config.getoption("--sessions")
    for seed in range(count):
        chance = random.Random(seed)
        answer = converse(sql_server.port, mutated(script(chance), chance))
        assert SECRET.encode() not in answer, seed
        assert b"internal error" not in answer, (seed, answer)
        assert b"CXX000" not in answer, (seed, answer)
    assert bystander.execute("EXECUTE mine").fetchone() == (SECRET,)
    assert sql_server.process.is_alive()
    assert "Traceback" not in sql_server.log()


def test_an_unchanged_session_is_answered(sql_server: SqlServer) -> None:
    """So that the others fail for what was changed in them."""
    for seed in range(8):
        chance = random.Random(seed)
        answer = converse(sql_server.port, startup() + b"".join(script(chance)))
        assert answer.count(b"\0Z\0\0\0\5") + answer.startswith(b"R") > 0
        assert b"C08P01" not in answer

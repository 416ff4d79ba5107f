"""Bytes as text: PostgreSQL's encodings, and its hashes of texts. Bytes are given in
hexadecimal."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re

from reclock.errors import ConversionError

_ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
_LINE = 76
_ESCAPED = re.compile(rb"\\(?:([0-3][0-7]{2})|(\\)|(.?))", re.DOTALL)
_BLANKS = re.compile(r"[ \t\n\r]")
_WORD, _MASK = 0xFFFFFFFF, (1 << 64) - 1


def encoded(digits: str, encoding: str) -> str:
    """``encode``. Raises ``ConversionError``."""
    raw = bytes.fromhex(digits)
    match encoding.lower():
        case "hex":
            return raw.hex()
        case "base64":
            text = base64.b64encode(raw).decode()
            return "\n".join(text[i : i + _LINE] for i in range(0, len(text), _LINE))
        case "escape":
            return "".join(map(_escaped_byte, raw))
    raise _unknown(encoding)


def _escaped_byte(byte: int) -> str:
    if byte == 0 or byte > 127:
        return f"\\{byte:03o}"
    return "\\\\" if byte == 92 else chr(byte)


def decoded(text: str, encoding: str) -> str:
    """``decode``, in hexadecimal. Raises ``ConversionError``."""
    match encoding.lower():
        case "hex":
            return _of_hexadecimal(text)
        case "base64":
            return _of_base64(text)
        case "escape":
            return _ESCAPED.sub(_unescaped, text.encode()).hex()
    raise _unknown(encoding)


def of_literal(text: str) -> str:
    """The bytes that a text spells as a ``bytea``, in hexadecimal. Raises ``ConversionError``."""
    return _of_hexadecimal(text[2:]) if text.startswith("\\x") else decoded(text, "escape")


def _unknown(encoding: str) -> ConversionError:
    return ConversionError(f'unrecognized encoding: "{encoding}"')


def _of_hexadecimal(text: str) -> str:
    *before, last = text.split() or [""]
    digits = "".join([*before, last])
    if (wrong := re.search(r"[^0-9a-fA-F]", digits)) is not None:
        raise ConversionError(f'invalid hexadecimal digit: "{wrong[0]}"')
    if any(len(part) % 2 for part in before):
        raise ConversionError('invalid hexadecimal digit: " "')
    if len(digits) % 2:
        raise ConversionError("invalid hexadecimal data: odd number of digits")
    return digits.lower()


def _of_base64(text: str) -> str:
    symbols = _BLANKS.sub("", text)
    if (wrong := re.search(r"[^A-Za-z0-9+/=]", symbols)) is not None:
        raise ConversionError(f'invalid symbol "{wrong[0]}" found while decoding base64 sequence')
    try:
        return base64.b64decode(symbols, validate=True).hex()
    except binascii.Error as error:
        raise ConversionError(
            "invalid base64 end sequence",
            hint="input data is missing padding, is truncated, or is otherwise corrupted",
        ) from error


def _unescaped(escaped: re.Match[bytes]) -> bytes:
    if escaped[1] is not None:
        return bytes([int(escaped[1], 8)])
    if escaped[2] is not None:
        return b"\\"
    raise ConversionError("invalid input syntax for type bytea", sqlstate="22P02")


def text_of(digits: str, encoding: str) -> str:
    """``convert_from``. Raises ``ConversionError``."""
    check_utf8(encoding)
    try:
        text = bytes.fromhex(digits).decode()
    except UnicodeDecodeError as error:
        wrong = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.end])
        raise _invalid_text(wrong) from error
    if "\0" in text:
        raise _invalid_text("0x00")
    return text


def _invalid_text(wrong: str) -> ConversionError:
    message = f'invalid byte sequence for encoding "UTF8": {wrong}'
    return ConversionError(message, sqlstate="22021")


def bytes_of(text: str, encoding: str) -> str:
    """``convert_to``, in hexadecimal. Raises ``ConversionError``."""
    check_utf8(encoding)
    return text.encode().hex()


def check_utf8(encoding: str) -> None:
    if re.sub(r"[^a-z0-9]", "", encoding.lower()) not in ("utf8", "unicode"):
        raise ConversionError(f'encoding "{encoding}" is not supported', sqlstate="0A000")


def digest(digits: str, algorithm: str) -> str:
    """``digest`` of pgcrypto, in hexadecimal. Raises ``ConversionError``."""
    return hashlib.new(_algorithm(algorithm), bytes.fromhex(digits)).hexdigest()


def keyed_digest(digits: str, key: str, algorithm: str) -> str:
    """``hmac`` of pgcrypto (RFC 2104), in hexadecimal. Raises ``ConversionError``."""
    return hmac.digest(bytes.fromhex(key), bytes.fromhex(digits), _algorithm(algorithm)).hex()


def _algorithm(name: str) -> str:
    if name.lower() not in _ALGORITHMS:
        raise ConversionError(f'Cannot use "{name}": No such hash algorithm')
    return name.lower()


# --- PostgreSQL's hash_bytes(): Bob Jenkins's lookup3 ---


def hash_of_text(text: str) -> int:
    """``hashtext``."""
    _, hashed = _hashed(text.encode(), 0)
    return hashed - (1 << 32) if hashed >> 31 else hashed


def extended_hash_of_text(text: str, seed: str) -> str:
    """``hashtextextended``; ``seed`` and the result are texts of 64-bit integers."""
    high, low = _hashed(text.encode(), int(seed) & _MASK)
    hashed = high << 32 | low
    return str(hashed - (1 << 64) if hashed >> 63 else hashed)


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & _WORD) ^ _rotated(c, bits)
        c = (c + b) & _WORD
        a, b, c = b, c, a
    return a, b, c


def _hashed(raw: bytes, seed: int) -> tuple[int, int]:
    a = b = c = (0x9E3779B9 + len(raw) + 3923095) & _WORD
    if seed:
        a, b, c = _mixed((a + (seed >> 32)) & _WORD, (b + (seed & _WORD)) & _WORD, c)
    while len(raw) >= 12:
        x, y, z = (int.from_bytes(raw[i : i + 4], "little") for i in (0, 4, 8))
        a, b, c = _mixed((a + x) & _WORD, (b + y) & _WORD, (c + z) & _WORD)
        raw = raw[12:]
    a = (a + int.from_bytes(raw[:4], "little")) & _WORD
    b = (b + int.from_bytes(raw[4:8], "little")) & _WORD
    c = (c + (int.from_bytes(raw[8:], "little") << 8)) & _WORD  # its lowest byte is the length's
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotated(b, bits)) & _WORD
        a, b, c = b, c, a
    return a, b

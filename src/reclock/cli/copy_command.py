"""``\\copy``: COPY between the server and a file of the shell's machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reclock.cli.script import top_level_words
from reclock.errors import InvalidOption

_FILE = re.compile(r"\s*(?P<file>'(?:[^']|'')*'|[^\s;']+)(?P<options>.*)", re.DOTALL)
_STREAMS = {"stdin", "stdout", "pstdin", "pstdout"}
_HINT = r"\copy table [(columns)] | (query) from | to 'file' | stdin | stdout [[with] (options)]"


@dataclass(frozen=True, slots=True)
class CopyCommand:
    """The statement to send, and the file whose data it takes or gives; None for standard input
    and output."""

    statement: str
    path: Path | None
    mode: Literal["rb", "wb"]


def parse_copy(argument: str) -> CopyCommand:
    """What an argument of ``\\copy`` means. Raises ``InvalidOption``."""
    directions = [
        (word.lower(), start, end)
        for word, start, end in top_level_words(argument)
        if word.lower() in ("from", "to")
    ]
    if not directions:
        raise InvalidOption(r"\copy: neither FROM nor TO", hint=_HINT)
    direction, start, end = directions[0]
    target = _FILE.fullmatch(argument[end:])
    if target is None or not argument[:start].strip():
        raise InvalidOption(r"\copy: no table or no file", hint=_HINT)
    file = target["file"]
    if file.lower() == "program":
        raise InvalidOption(r"\copy: PROGRAM is not supported", hint=_HINT)
    stream = "FROM STDIN" if direction == "from" else "TO STDOUT"
    return CopyCommand(
        f"COPY {argument[:start].strip()} {stream}{target['options']}",
        None if file.lower() in _STREAMS else Path(_unquoted(file)),
        "rb" if direction == "from" else "wb",
    )


def _unquoted(file: str) -> str:
    return file[1:-1].replace("''", "'") if file.startswith("'") else file

"""Version 2: clusters. Installs the cluster ``(1, 'default')`` and its allocator, and puts every
index into it.

Source: the catalog migration of the CREATE CLUSTER design. The text of an index's statement gets
``IN CLUSTER default`` before its ``ON``; nothing else of it changes. Quoted names, strings and
comments are passed over.
"""

import re
from collections.abc import Iterator
from typing import Any

OWNER_ROLE_ID = "s1"
"""The role ``mz_system``, which every catalog of version 1 has."""

CLUSTER = {
    "kind": "cluster",
    "key": {"id": 1},
    "value": {"name": "default", "owner_role_id": OWNER_ROLE_ID, "size": None},
}
ALLOCATORS = [
    {"kind": "id_allocator", "key": {"name": "cluster"}, "value": {"next_id": 2}},
    {"kind": "id_allocator", "key": {"name": "cluster_replica"}, "value": {"next_id": 1}},
]

_TOKEN = re.compile(
    r"""
      (?P<opaque> "(?:[^"]|"")*" | \b[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | --[^\n]* | \s+ )
    | (?P<comment> /\* )
    | (?P<word> \w[\w$]* )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def migrate(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of version 1 as those of version 2. Raises ``ValueError`` if an index's statement
    cannot be understood."""
    return [
        CLUSTER,
        *ALLOCATORS,
        *(_in_cluster(thing) if _is_index(thing) else thing for thing in objects),
    ]


def _is_index(thing: dict[str, Any]) -> bool:
    return bool(thing["kind"] == "item" and thing["value"]["type"] == "index")


def _in_cluster(thing: dict[str, Any]) -> dict[str, Any]:
    value = thing["value"]
    try:
        return {**thing, "value": {**value, "create_sql": in_cluster_default(value["create_sql"])}}
    except ValueError as error:
        raise ValueError(f'index "{value["name"]}" ({thing["key"]["id"]}): {error}') from error


def in_cluster_default(create_sql: str) -> str:
    """``CREATE [DEFAULT] INDEX [name] ON …`` with ``IN CLUSTER default`` before ``ON``."""
    for position, word in _words(create_sql):
        if word == "ON":
            return f"{create_sql[:position]}IN CLUSTER default {create_sql[position:]}"
    raise ValueError(f"no ON in {create_sql!r}")


def _words(text: str) -> Iterator[tuple[int, str]]:
    """The unquoted words of a statement, in upper case, each with its position."""
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:  # cannot be: the last alternative matches any character
            raise ValueError(f"no token at {position}")
        if token["comment"]:
            position = _after_comment(text, position)
            continue
        if token["other"] in ('"', "'"):
            raise ValueError("a quoted part does not end")
        if token["word"]:
            yield position, token["word"].upper()
        position = token.end()


def _after_comment(text: str, position: int) -> int:
    """Where the block comment that begins at ``position`` ends; such comments nest."""
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise ValueError("a comment does not end")

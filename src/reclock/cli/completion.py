"""Completion of what is typed into the shell: commands, keywords, relations, and the columns of the
relations that the statement names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from reclock.adapter.session.session import Session
from reclock.cli.remote import RemoteSession
from reclock.errors import ReclockError

KEYWORDS = (
    "ALTER",
    "AND",
    "AS OF",
    "CASE",
    "CLUSTER",
    "COPY",
    "CREATE",
    "DELETE FROM",
    "DISTINCT",
    "DROP",
    "EXPLAIN",
    "EXPLAIN TIMESTAMP",
    "FROM",
    "GROUP BY",
    "HAVING",
    "INDEX",
    "INSERT INTO",
    "JOIN",
    "LEFT JOIN",
    "LIMIT",
    "MATERIALIZED VIEW",
    "ORDER BY",
    "RESNAPSHOT",
    "RETRY",
    "SELECT",
    "SET",
    "SHOW",
    "SHOW CREATE",
    "SINK",
    "SKIP",
    "SOURCE",
    "SOURCES",
    "SUBSCRIBE TO",
    "TABLE",
    "UNION ALL",
    "UPDATE",
    "VALUES",
    "VIEW",
    "WAIVE",
    "WHERE",
    "WITH",
)

_WORD = re.compile(r"[^\W\d][\w$]*")
_COMMAND = re.compile(r"\\\S*$")
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


class ShellCompleter(Completer):
    """Completes the word before the cursor, whatever its case. ``begun`` returns the lines of the
    statement that were typed before."""

    def __init__(
        self,
        session: Session | RemoteSession,
        commands: Iterable[str],
        begun: Callable[[], str],
    ) -> None:
        self._session, self._begun = session, begun
        self._commands = sorted(commands)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        before = document.text_before_cursor
        if command := _COMMAND.fullmatch(before.lstrip()):
            for name in self._commands:
                if name.startswith(command[0]):
                    yield Completion(name, -len(command[0]))
            return
        word = document.get_word_before_cursor(pattern=_WORD)
        for text in self._candidates(self._begun() + document.text, before.lstrip()):
            if text.strip('"').lower().startswith(word.lower()):
                yield Completion(text, -len(word))

    def _candidates(self, statement: str, before: str) -> list[str]:
        """Columns, relations and keywords, in this order. Without a server there are no names."""
        try:
            relations = self._session.relation_names()
            named = {word.lower() for word in _WORD.findall(statement)}
            columns = self._session.column_names(
                [name for name in relations if name.lower() in named]
            )
        except ReclockError:
            return list(KEYWORDS)
        if before.startswith("\\"):
            return list(map(_identifier, relations))
        return [*dict.fromkeys(map(_identifier, [*columns, *relations])), *KEYWORDS]


def _identifier(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'

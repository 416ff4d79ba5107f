"""CREATE SINK: which relation, into what, and how its changes are written."""

from __future__ import annotations

from sqlglot import exp

from reclock.sql.source_grammar import SourceParser
from reclock.sql.statements.sinks.syntax import CreateSinkStatement, DeltaInto, KafkaInto


class SinkParser(SourceParser):
    """Rules of sinks."""

    def _create_sink(self) -> CreateSinkStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._object_name()
        cluster = self._cluster()
        self._expect("FROM")
        on = self._object_name()
        self._expect("INTO")
        return CreateSinkStatement(
            this=name,
            exists=exists,
            cluster=cluster,
            on=on,
            target=self._into(),
            options=self._parse_wrapped_csv(self._option) if self._match_text_seq("WITH") else None,
            as_of=self._as_of() if self._is_as_of() else None,
        )

    def _into(self) -> exp.Expression:
        if self._match_text_seq("DELTA"):
            return DeltaInto(path=self._text())
        if not self._match_text_seq("KAFKA"):
            self._unsupported("CREATE SINK INTO")
        found: dict[str, object] = {}
        if self._match_text_seq("CONNECTION"):
            found["connection"] = self._object_name()
            self._wrapped(
                {
                    "TOPIC PARTITION COUNT": lambda: found.update(partitions=self._integer()),
                    "TOPIC REPLICATION FACTOR": lambda: found.update(replicas=self._integer()),
                    "COMPRESSION TYPE": lambda: found.update(compression=self._text()),
                    "TOPIC": lambda: found.update(topic=self._text()),
                    "PROGRESS TOPIC": lambda: found.update(progress_topic=self._text()),
                }
            )
        else:
            self._expect("BROKER")
            found["broker"] = self._text()
            self._expect("TOPIC")
            found["topic"] = self._text()
            found["progress_topic"] = self._text() if self._match_text_seq("PROGRESS", "TOPIC") else None
        key, is_not_enforced = None, False
        if self._match_text_seq("KEY", "(", advance=False):
            self._expect("KEY")
            key = self._parse_wrapped_csv(self._name)
            is_not_enforced = bool(self._match_text_seq("NOT", "ENFORCED"))
        if self._match_text_seq("HEADERS", advance=False):
            self._unsupported("CREATE SINK")
        format = self._formats() or self._format()
        self._expect("ENVELOPE")
        if not self._match_texts(("DEBEZIUM", "UPSERT")):
            self.raise_error("Expected DEBEZIUM or UPSERT")
        return KafkaInto(
            **found,
            key=key,
            is_not_enforced=is_not_enforced,
            format=format,
            envelope=self._prev.text.upper(),
        )

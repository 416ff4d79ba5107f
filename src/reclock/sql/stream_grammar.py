"""CREATE SOURCE over services: buckets of objects, Kinesis and PubNub."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from reclock.definitions.sources import COMPRESSIONS
from reclock.sql.statements.sources.upstreams_syntax import KinesisFrom, ObjectsFrom, PubNubFrom, ShardStart, StreamStart
from reclock.sql.syntax.expressions import QueryParser


class StreamParser(QueryParser):
    """Rules of services."""

    def _objects(self) -> ObjectsFrom:
        connection = self._object_name() if self._match_text_seq("CONNECTION") else None
        self._expect("DISCOVER", "OBJECTS")
        pattern = self._text() if self._match_text_seq("MATCHING") else None
        self._expect("USING")
        found: dict[str, object] = {}
        while True:
            word = "bucket" if self._match_text_seq("BUCKET", "SCAN") else "queue"
            if word == "queue":
                self._expect("SQS", "NOTIFICATIONS")
            if word in found:
                self.raise_error("Expected one BUCKET SCAN, and one SQS NOTIFICATIONS at most", self._prev)
            found[word] = self._text()
            if not self._match(TokenType.COMMA):
                break
        if "bucket" not in found:
            self.raise_error("Expected BUCKET SCAN")
        compression = None
        if self._match_text_seq("COMPRESSION"):
            if not self._match_texts(COMPRESSIONS):
                self.raise_error(f"Expected {', '.join(COMPRESSIONS)}")
            compression = self._prev.text.upper()
        return ObjectsFrom(connection=connection, pattern=pattern, **found, compression=compression)

    def _kinesis(self) -> KinesisFrom:
        found: dict[str, object] = {}
        if self._match_text_seq("CONNECTION"):
            found["connection"] = self._object_name()
        if self._match_text_seq("ARN"):
            found["arn"] = self._text()
            if self._match_text_seq("ENDPOINT"):
                found["endpoint"] = self._text()
        else:
            if not self._match(TokenType.L_PAREN):
                self.raise_error("Expected ARN, or STREAM and REGION in parentheses")
            while True:
                if not self._match_texts(("STREAM", "REGION", "ENDPOINT")):
                    self.raise_error("Expected STREAM, REGION or ENDPOINT")
                word = self._prev.text.lower()
                if word in found:
                    self.raise_error(f"{word.upper()} is given twice", self._prev)
                found[word] = self._text()
                if not self._match(TokenType.COMMA):
                    break
            self._match_r_paren()
        return KinesisFrom(**found, start=self._stream_start())

    def _pubnub(self) -> PubNubFrom:
        self._expect("SUBSCRIBE", "KEY")
        key = self._text()
        self._expect("CHANNEL")
        channel = self._text()
        origin = self._text() if self._match_text_seq("ORIGIN") else None
        return PubNubFrom(subscribe_key=key, channel=channel, origin=origin)

    def _stream_start(self) -> StreamStart | None:
        if not self._match_text_seq("START"):
            return None
        if self._match_text_seq("TRIM", "HORIZON"):
            return StreamStart(kind="TRIM HORIZON")
        if self._match_text_seq("LATEST"):
            return StreamStart(kind="LATEST")
        if self._match_text_seq("TIMESTAMP"):
            return StreamStart(kind="TIMESTAMP", timestamp=self._integer())
        if not self._match_texts(("AT", "AFTER")):
            self.raise_error("Expected TRIM HORIZON, LATEST, TIMESTAMP, AT or AFTER")
        kind = self._prev.text.upper()
        self._expect("SEQUENCE", "NUMBER")
        return StreamStart(kind=kind, numbers=self._parse_wrapped_csv(self._shard_start))

    def _shard_start(self) -> ShardStart:
        shard = self._integer()
        if not self._match(TokenType.EQ):
            self.raise_error("Expected =")
        return ShardStart(this=shard, number=self._integer())

"""CREATE SOURCE: what is read, how its records are written, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.connection_grammar import ConnectionParser
from reclock.sql.statements.sources.formats_syntax import (
    CsvFormatClause,
    JsonFormatClause,
    KeyValueFormat,
    PlainFormatClause,
    ProtobufFormatClause,
    RegistryFormatClause,
)
from reclock.sql.statements.sources.syntax import (
    AlterSourceRetainStatement,
    CreateSourceStatement,
    CreateSubsourceStatement,
    Metadata,
    RetainHistoryClause,
    SourceColumn,
    SubsourceOf,
)
from reclock.sql.statements.sources.upstreams_syntax import KafkaFrom, LoadGeneratorFrom, ObjectsFrom, PostgresFrom
from reclock.sql.stream_grammar import StreamParser
from reclock.sql.syntax import nodes

_GENERATORS = ("COUNTER", "AUCTION", "TPCH")
_METADATA = ("KEY", "PARTITION", "OFFSET", "TIMESTAMP", "HEADERS")


class SourceParser(StreamParser, ConnectionParser):
    """Rules of sources."""

    def _create_source(self, materialized: bool) -> CreateSourceStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._object_name()
        cluster = self._cluster() if materialized else None
        columns = self._parse_wrapped_csv(self._source_column) if self._match(TokenType.L_PAREN, advance=False) else None
        place = self._curr
        self._expect("FROM")
        created = CreateSourceStatement(
            this=name,
            exists=exists,
            materialized=materialized,
            cluster=cluster,
            columns=columns,
            connector=self._connector(),
            format=self._formats(),
            include=self._parse_csv(self._metadata) if self._match_text_seq("INCLUDE") else None,
            envelope=self._envelope(),
            **self._subsources(),
            progress=self._object_name() if self._match_text_seq("EXPOSE", "PROGRESS", "AS") else None,
            options=self._parse_wrapped_csv(self._source_option) if self._match_text_seq("WITH") else None,
        )
        has_fields = not isinstance(created.args["format"], PlainFormatClause)
        if columns is None and isinstance(created.args["connector"], ObjectsFrom) and has_fields:
            self.raise_error("Expected the list of columns", place)
        return created

    def _create_subsource(self) -> CreateSubsourceStatement:
        name = self._object_name()
        self._expect("FROM", "SOURCE")
        source = self._object_name()
        self._expect("TABLE")
        return CreateSubsourceStatement(this=name, source=source, table=self._text())

    def _source_column(self) -> SourceColumn:
        name = self._name()
        kind = self._parse_types(check_func=False)
        if kind is None:
            self.raise_error("Expected a type")
        not_null = self._match_text_seq("NOT", "NULL")
        if not not_null:
            self._match_text_seq("NULL")
        return SourceColumn(this=name, kind=kind, not_null=not_null)

    # --- what is read ---

    def _connector(self) -> exp.Expression:
        if self._match_text_seq("LOAD", "GENERATOR"):
            return self._load_generator()
        if self._match_text_seq("KAFKA"):
            return self._kafka()
        if self._match_text_seq("KINESIS"):
            return self._kinesis()
        if self._match_text_seq("PUBNUB"):
            return self._pubnub()
        if self._match_text_seq("POSTGRES"):
            return self._postgres()
        if not self._match_text_seq("S3"):
            self._unsupported("CREATE SOURCE FROM")
        return self._objects()

    def _load_generator(self) -> LoadGeneratorFrom:
        if not self._match_texts(_GENERATORS):
            self._unsupported("LOAD GENERATOR")
        found: dict[str, exp.Expr | str] = {"kind": self._prev.text.upper()}
        if self._match(TokenType.L_PAREN):
            while True:
                if self._match_text_seq("TICK", "INTERVAL"):
                    found["tick_interval"] = self._text()
                elif self._match_text_seq("MAX", "CARDINALITY"):
                    found["max_cardinality"] = self._integer()
                elif self._match_text_seq("SCALE", "FACTOR"):
                    found["scale_factor"] = self._parse_number() or self._missing()
                else:
                    self.raise_error("Expected TICK INTERVAL, MAX CARDINALITY or SCALE FACTOR")
                if not self._match(TokenType.COMMA):
                    break
            self._match_r_paren()
        return LoadGeneratorFrom(**found)

    def _kafka(self) -> KafkaFrom:
        if self._match_text_seq("CONNECTION"):
            return self._kafka_connection()
        self._expect("BROKER")
        broker = self._text()
        self._expect("TOPIC")
        found: dict[str, object] = {"broker": broker, "topic": self._text()}
        for bound in ("START", "END"):
            if self._match_text_seq(bound, "OFFSET"):
                found[f"{bound.lower()}_offset"] = self._parse_wrapped_csv(self._integer)
            elif self._match_text_seq(bound, "TIMESTAMP"):
                found[f"{bound.lower()}_timestamp"] = self._integer()
        if self._match_text_seq("GROUP", "ID"):
            found["group"] = self._text()
        return KafkaFrom(**found)

    def _kafka_connection(self) -> KafkaFrom:
        found: dict[str, object] = {"connection": self._object_name()}
        self._wrapped(
            {
                "TOPIC": lambda: found.update(topic=self._text()),
                "TRANSACTION TOPIC": lambda: found.update(transactions=self._text()),
                "START OFFSET": lambda: found.update(start_offset=self._parse_wrapped_csv(self._integer)),
                "START TIMESTAMP": lambda: found.update(start_timestamp=self._integer()),
                "END OFFSET": lambda: found.update(end_offset=self._parse_wrapped_csv(self._integer)),
                "END TIMESTAMP": lambda: found.update(end_timestamp=self._integer()),
                "GROUP ID": lambda: found.update(group=self._text()),
            }
        )
        return KafkaFrom(**found)

    def _wrapped(self, options: Mapping[str, Callable[[], object]]) -> None:
        """Options in parentheses, each by what reads its value."""

        def option() -> bool:
            name = next((name for name in options if self._match_text_seq(*name.split())), None)
            if name is None:
                self.raise_error(f"Expected {', '.join(options)}")
            self._match(TokenType.EQ)
            options[name]()
            return True

        self._parse_wrapped_csv(option)

    def _postgres(self) -> PostgresFrom:
        self._expect("CONNECTION")
        if not self._is_string():
            named: dict[str, object] = {"connection": self._object_name()}
            self._wrapped(
                {
                    "PUBLICATION": lambda: named.update(publication=self._text()),
                    "SLOT": lambda: named.update(slot=self._text()),
                    "TEXT COLUMNS": lambda: named.update(text_columns=self._upstream_columns()),
                    "EXCLUDE COLUMNS": lambda: named.update(exclude_columns=self._upstream_columns()),
                }
            )
            return PostgresFrom(**named)
        connection = self._text()
        self._expect("PUBLICATION")
        publication = self._text()
        return PostgresFrom(
            connection=connection,
            publication=publication,
            slot=self._text() if self._match_text_seq("SLOT") else None,
            text_columns=self._upstream_columns() if self._match_text_seq("TEXT", "COLUMNS") else None,
            exclude_columns=self._upstream_columns() if self._match_text_seq("EXCLUDE", "COLUMNS") else None,
        )

    def _upstream_columns(self) -> list[exp.Column]:
        """``([schema.]table.column, …)``"""
        return list(self._parse_wrapped_csv(self._upstream_column))

    def _upstream_column(self) -> exp.Column:
        names = [self._name()]
        while self._match(TokenType.DOT):
            names.append(self._name())
        if not 2 <= len(names) <= 3:
            self.raise_error("Expected table.column or schema.table.column")
        return exp.Column(this=names[-1], table=names[-2], db=names[0] if len(names) == 3 else None)

    # --- how it is written ---

    def _formats(self) -> exp.Expression | None:
        if self._match_text_seq("KEY"):
            key = self._format()
            self._expect("VALUE")
            return KeyValueFormat(key=key, value=self._format())
        return self._format() if self._match_text_seq("FORMAT", advance=False) else None

    def _format(self) -> exp.Expression:
        self._expect("FORMAT")
        if self._match_text_seq("JSON"):
            return JsonFormatClause()
        if self._match_texts(("TEXT", "BYTES")):
            return PlainFormatClause(kind=self._prev.text.upper())
        if self._match_texts(("AVRO", "PROTOBUF")):
            return self._schema_format(self._prev.text.upper())
        if not self._match_text_seq("CSV"):
            self._unsupported("FORMAT")
        header, columns = False, None
        if self._match_text_seq("WITH", "HEADER"):
            header = True
        elif self._curr.text.upper() == "WITH" and self._next.token_type == TokenType.NUMBER:
            self._advance()
            columns = self._integer()
            self._expect("COLUMNS")
        delimiter = self._text() if self._match_text_seq("DELIMITED", "BY") else None
        null_text = self._text() if self._match_text_seq("NULL", "AS") else None
        return CsvFormatClause(header=header, columns=columns, delimiter=delimiter, null_text=null_text)

    def _schema_format(self, kind: str) -> exp.Expression:
        message = self._text() if kind == "PROTOBUF" and self._match_text_seq("MESSAGE") else None
        self._expect("USING")
        if message is not None and self._match_text_seq("SCHEMA"):
            return ProtobufFormatClause(message=message, schema=self._text())
        self._expect("CONFLUENT", "SCHEMA", "REGISTRY", "CONNECTION")
        found: dict[str, object] = {"connection": self._object_name()}
        if kind == "AVRO" and self._match(TokenType.L_PAREN, advance=False):
            self._wrapped(
                {
                    "AVRO KEY FULLNAME": lambda: found.update(key_name=self._text()),
                    "AVRO VALUE FULLNAME": lambda: found.update(value_name=self._text()),
                    "NULL DEFAULTS": lambda: found.update(null_defaults=self._is_on()),
                }
            )
        seed = self._text() if self._match_text_seq("SEED", "SCHEMA") else None
        return RegistryFormatClause(kind=kind, message=message, seed=seed, **found)

    def _is_on(self) -> bool:
        """A switch, which need not say that it is on."""
        return not (self._match_texts(("TRUE", "FALSE")) and self._prev.text.upper() == "FALSE")

    def _metadata(self) -> Metadata:
        if not self._match_texts(_METADATA):
            self.raise_error(f"Expected {', '.join(_METADATA[:-1])} or {_METADATA[-1]}")
        kind = self._prev.text.upper()
        return Metadata(kind=kind, alias=self._name() if self._match(TokenType.ALIAS) else None)

    def _envelope(self) -> str | None:
        if not self._match_text_seq("ENVELOPE"):
            return None
        if not self._match_texts(("NONE", "UPSERT", "DEBEZIUM")):
            self._unsupported("ENVELOPE")
        return self._prev.text.upper()

    # --- what becomes of it ---

    def _subsources(self) -> dict[str, object]:
        if not self._match_text_seq("FOR"):
            return {}
        if self._match_text_seq("ALL"):
            self._expect("TABLES")
            return {"all_tables": True}
        self._expect("TABLES")
        return {"tables": self._parse_wrapped_csv(self._subsource)}

    def _subsource(self) -> SubsourceOf:
        schema, table = None, self._name()
        if self._match(TokenType.DOT):
            schema, table = table, self._name()
        alias = self._object_name() if self._match(TokenType.ALIAS) else None
        columns = self._parse_wrapped_csv(self._source_column) if self._match(TokenType.L_PAREN, advance=False) else None
        key = self._parse_wrapped_csv(self._name) if columns and self._match_text_seq("KEY") else None
        oid = self._parse_number() if columns and self._match_text_seq("OID") else None
        entries = self._parse_wrapped_csv(self._parse_number) if oid and self._match_text_seq("ENTRY") else None
        return SubsourceOf(this=table, schema=schema, alias=alias, columns=columns, key=key, oid=oid, entries=entries)

    def _source_option(self) -> nodes.WithOption | RetainHistoryClause:
        if self._match_text_seq("RETAIN", "HISTORY"):
            return self._retain_history()
        return self._option()

    def _retain_history(self) -> RetainHistoryClause:
        self._match(TokenType.EQ)
        self._match_text_seq("FOR")
        return RetainHistoryClause(this=self._text())

    def _alter_retention(self, name: exp.Expression) -> AlterSourceRetainStatement | None:
        """``SET (RETAIN HISTORY FOR …)``, ``RESET (RETAIN HISTORY)``."""
        if not self._match_texts(("SET", "RESET")):
            return None
        is_set = self._prev.text.upper() == "SET"
        self._match_l_paren()
        self._expect("RETAIN", "HISTORY")
        history = self._retain_history() if is_set else None
        self._match_r_paren()
        return AlterSourceRetainStatement(this=name, history=history)

    def _unsupported(self, verb: str) -> nodes.Statement:
        if self._curr.text.isalpha() and self._curr.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            raise UnsupportedSql(f"{verb} {self._curr.text.upper()} is not supported")
        self.raise_error("Invalid expression")

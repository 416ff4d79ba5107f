"""Names of objects: folding, quoting, qualification."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.algebra.text_style import PLAIN_TEXT, TextStyle
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.syntax.dialect import Reclock, to_sql
from reclock.sql.syntax.reserved_words import RESERVED_WORD
from reclock.sql.syntax.temporary import TEMPORARY_SCHEMA

DEFAULT_DATABASE = "reclock"
DEFAULT_SCHEMA = "public"
DEFAULT_CLUSTER = "default"
MATERIALIZE_VERSION = "v0.68.0"
"""The version of Materialize that its clients see: the oldest that its adapter for dbt works
with."""
SERVER_VERSION = "16.0"
"""The version of PostgreSQL that clients see."""
DEFAULT_USER = "reclock"
MAX_RECURSION_ITERATIONS = 10_000
"""The default of the session variable, and the limit of every definition."""
SYSTEM_SCHEMAS = ("mz_catalog", "mz_internal", "pg_catalog", "information_schema")
"""Schemas without a database. All but the last are searched before the search path."""
SEARCHED_SYSTEM_SCHEMAS = SYSTEM_SCHEMAS[:3]
_PLAIN = re.compile(rf"(?!(?:{RESERVED_WORD})$)[a-z_][a-z0-9_]*")
_NAME_TOKENS = Reclock.Parser.ID_VAR_TOKENS - {TokenType.DESCRIBE, TokenType.RECURSIVE}
"""Tokens that the parser takes as a name at every place of one."""


@dataclass(frozen=True, slots=True)
class QualifiedName:
    """The full name of an item. ``database`` is None in a system schema, and in the temporary
    one."""

    database: str | None
    schema: str
    item: str

    def __str__(self) -> str:
        """The name in SQL, quoted where needed."""
        return ".".join(
            quote(part) for part in (self.database, self.schema, self.item) if part is not None
        )

    @property
    def scope(self) -> tuple[str | None, str]:
        return self.database, self.schema

    @property
    def is_temporary(self) -> bool:
        """Whether it names an object of one session."""
        return self.scope == (None, TEMPORARY_SCHEMA)

    def sibling(self, item: str) -> QualifiedName:
        """Another name in the same schema."""
        return QualifiedName(self.database, self.schema, item)

    def to_table(self) -> exp.Table:
        database = identifier(self.database) if self.database is not None else None
        return exp.Table(this=identifier(self.item), db=identifier(self.schema), catalog=database)


@dataclass(frozen=True, slots=True)
class SessionNames:
    """The parts of a session that names and constants depend on: where unqualified names are looked
    up and created, the active cluster, the values of ``$1``, …."""

    database: str = DEFAULT_DATABASE
    search_path: tuple[str, ...] = (DEFAULT_SCHEMA,)
    cluster: str = DEFAULT_CLUSTER
    session_user: str = DEFAULT_USER
    current_user: str = DEFAULT_USER
    max_recursion_iterations: int = MAX_RECURSION_ITERATIONS
    """How many iterations of a recursive query may add rows."""
    style: TextStyle = PLAIN_TEXT
    """How the session writes values as text."""
    parameters: Parameters = field(default=NO_PARAMETERS, compare=False)
    process_id: Callable[[], int] = field(default=lambda: 0, compare=False)
    """The id by which the client knows the session."""
    installation_id: str = ""
    """The environment's id."""
    now: Callable[[], datetime] = field(
        default=lambda: datetime(1970, 1, 1, tzinfo=UTC), compare=False
    )
    """When the statement, or its transaction block, began."""
    clock: Callable[[], datetime] = field(
        default=lambda: datetime(1970, 1, 1, tzinfo=UTC), compare=False
    )
    """The time at this moment."""
    started_at: datetime = field(default=datetime(1970, 1, 1, tzinfo=UTC), compare=False)
    """When the process opened the environment."""
    settings: Callable[[], Mapping[str, str]] = field(default=dict, compare=False)
    """The values of the session variables."""

    @property
    def zone(self) -> str:
        """The time zone in which the session reads and writes moments."""
        return self.style.zone


def fold(name: exp.Expr | None) -> str:
    """The name that an identifier means: as written if it is quoted, else in lower case."""
    if isinstance(name, exp.Identifier) and name.args.get("quoted"):
        return name.name
    return name.name.lower() if name is not None else ""


def parts(table: exp.Table) -> tuple[str, ...]:
    """The folded parts of a written name, from the outermost."""
    return tuple(
        fold(part) for part in (table.args.get("catalog"), table.args.get("db"), table.this) if part
    )


def is_plain(name: str) -> bool:
    """Whether ``name`` needs no quotes: neither in PostgreSQL nor for the parser."""
    token = Reclock.Tokenizer.KEYWORDS.get(name.upper())
    return bool(_PLAIN.fullmatch(name)) and (token is None or token in _NAME_TOKENS)


def identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=not is_plain(name))


def cluster_identifier(name: str) -> exp.Identifier:
    """The name of a cluster in SQL. The grammar accepts nearly any word there, so the name
    ``default`` needs no quotes."""
    return exp.Identifier(this=name, quoted=not is_plain(name) and name != DEFAULT_CLUSTER)


def quote(name: str) -> str:
    """The name as an identifier in SQL."""
    return name if is_plain(name) else to_sql(identifier(name))


def nearest(name: str, among: Iterable[str]) -> str | None:
    """A hint with the existing names most similar to ``name``."""
    near = difflib.get_close_matches(name, list(among), n=3, cutoff=0.6)
    return (
        "did you mean " + " or ".join(f'"{candidate}"' for candidate in near) + "?"
        if near
        else None
    )

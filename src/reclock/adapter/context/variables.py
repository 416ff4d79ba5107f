"""Session variables: their names, defaults and allowed values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from reclock.adapter.context.variable_values import (
    SEARCH_PATH,
    STRICT_SERIALIZABLE,
    USER_SCHEMA,
    always,
    byte_size,
    client_encoding,
    date_style,
    is_strict,
    isolation_level,
    milliseconds,
    milliseconds_of,
    on_or_off,
    one_of,
    positive,
    schemas_of,
    search_path,
    time_zone,
)
from reclock.algebra.byte_sizes import bytes_of
from reclock.algebra.text_style import ISO_INTERVALS, POSTGRES_INTERVALS, TextStyle
from reclock.algebra.zones import UTC_NAME
from reclock.catalog.objects import Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InvalidOption, UnknownVariable
from reclock.sql.names import (
    DEFAULT_DATABASE,
    DEFAULT_SCHEMA,
    DEFAULT_USER,
    MATERIALIZE_VERSION,
    MAX_RECURSION_ITERATIONS,
    SERVER_VERSION,
    SessionNames,
    nearest,
)

ROLE = "role"
READ_ONLY, DEFAULT_READ_ONLY = "transaction_read_only", "default_transaction_read_only"
ISOLATION = "transaction_isolation"
FAIL = "fail"
LAST_COMPLETE = "last_complete"


@dataclass(frozen=True, slots=True)
class Variable:
    """``check`` returns the value to store, or raises ``ValueError`` with the values that are
    allowed."""

    name: str
    default: str
    description: str
    check: Callable[[str], str] = str


_WITHOUT_EFFECT = {
    "check_function_bodies": "on",
    "constraint_exclusion": "partition",
    "cursor_tuple_fraction": "0.1",
    "default_statistics_target": "100",
    "default_tablespace": "",
    "default_text_search_config": "pg_catalog.english",
    "effective_cache_size": "4GB",
    "effective_io_concurrency": "1",
    "enable_bitmapscan": "on",
    "enable_hashagg": "on",
    "enable_hashjoin": "on",
    "enable_indexonlyscan": "on",
    "enable_indexscan": "on",
    "enable_material": "on",
    "enable_mergejoin": "on",
    "enable_nestloop": "on",
    "enable_partition_pruning": "on",
    "enable_seqscan": "on",
    "enable_sort": "on",
    "escape_string_warning": "on",
    "from_collapse_limit": "8",
    "geqo": "on",
    "hash_mem_multiplier": "2",
    "jit": "off",
    "join_collapse_limit": "8",
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "maintenance_work_mem": "64MB",
    "max_parallel_maintenance_workers": "2",
    "max_parallel_workers": "8",
    "max_parallel_workers_per_gather": "2",
    "parallel_setup_cost": "1000",
    "parallel_tuple_cost": "0.1",
    "plan_cache_mode": "auto",
    "random_page_cost": "4",
    "seq_page_cost": "1",
    "temp_buffers": "8MB",
    "work_mem": "4MB",
    "xmloption": "content",
}
"""Variables that scripts for PostgreSQL set, those of `pg_dump` too, which say how it should work or
what it should write to its log, and never what a query answers; with PostgreSQL's defaults."""


VARIABLES = {
    variable.name: variable
    for variable in (
        Variable(
            "cluster",
            "default",
            "the cluster whose indexes queries use, and where indexes are created",
        ),
        Variable(
            "cluster_replica",
            "",
            (
                "the replica of the active cluster that runs queries and whose logs are "
                "read; empty: any, for logs the only one"
            ),
        ),
        Variable("database", DEFAULT_DATABASE, "where unqualified names are looked up"),
        Variable(
            ROLE,
            "none",
            (
                "the role whose privileges statements have (SET ROLE); none is the role the "
                "session began with"
            ),
        ),
        Variable(
            "max_recursion_iterations",
            str(MAX_RECURSION_ITERATIONS),
            "most iterations of WITH RECURSIVE that add rows; views have the default",
            positive,
        ),
        Variable(
            "max_result_size",
            "1GB",
            "most bytes that a query may return, also as 64MB; 0 is no limit",
            byte_size,
        ),
        Variable(
            SEARCH_PATH,
            DEFAULT_SCHEMA,
            'schemas where unqualified names are looked up, separated by commas; "$user" is none',
            search_path,
        ),
        Variable(
            "stalled_reads",
            FAIL,
            (
                "reads of a stalled source fail, or (last_complete) answer at the newest "
                "time at which it is complete"
            ),
            one_of(FAIL, LAST_COMPLETE),
        ),
        Variable(
            "statement_timeout",
            "",
            "how long a statement may take, as 500ms or 1min; 0 is for ever; the "
            "environment's setting unless set",
            milliseconds,
        ),
        Variable(
            "transaction_isolation",
            STRICT_SERIALIZABLE,
            (
                "strict serializable reads wait until all applied writes are visible, "
                "serializable reads never wait; PostgreSQL's weaker levels mean the former"
            ),
            isolation_level,
        ),
        # Variables that clients of Materialize set at startup.
        Variable(
            "auto_route_catalog_queries",
            "on",
            "queries of system relations alone always run on the system cluster",
            always("on", "true"),
        ),
        Variable(
            "current_object_missing_warnings",
            "off",
            "nothing warns of a missing default cluster or database",
            always("off", "false"),
        ),
        Variable(
            "mz_version",
            MATERIALIZE_VERSION,
            "the version of Materialize whose clients are answered",
            always(MATERIALIZE_VERSION),
        ),
        Variable("welcome_message", "off", "there is none", always("off", "false")),
        # Variables that clients of PostgreSQL read, set or receive at startup.
        Variable("application_name", "", "the name that the client gives itself"),
        Variable("client_encoding", "UTF8", "always UTF8", client_encoding),
        Variable("client_min_messages", "notice", "for clients that set it; has no effect"),
        Variable("bytea_output", "hex", "always hex", always("hex")),
        Variable(
            "datestyle",
            "ISO, MDY",
            "dates are written as in ISO 8601, and read with the month before the day",
            date_style,
        ),
        Variable("default_table_access_method", "heap", "for clients that read it", always("heap")),
        Variable(
            "default_with_oids",
            "off",
            "for dumps of old servers",
            always("off", "false", "no", "0"),
        ),
        Variable("default_transaction_isolation", STRICT_SERIALIZABLE, "for clients that read it"),
        Variable(
            DEFAULT_READ_ONLY, "off", "whether transactions are READ ONLY by default", on_or_off
        ),
        Variable(
            READ_ONLY,
            "off",
            "whether the transaction is READ ONLY; once on, until its end",
            on_or_off,
        ),
        Variable(
            "extra_float_digits", "1", "for clients that set it; numbers are always written exactly"
        ),
        Variable("integer_datetimes", "on", "always on", always("on")),
        Variable(
            "intervalstyle",
            POSTGRES_INTERVALS,
            "how intervals are written as text: `postgres` or `iso_8601`; definitions write them as "
            "`postgres`",
            one_of(POSTGRES_INTERVALS, ISO_INTERVALS),
        ),
        Variable("is_superuser", "off", "for clients that read it", always("off")),
        Variable(
            "lock_timeout",
            "0",
            "how long a statement waits for an advisory lock; 0 is no limit of its own",
            milliseconds,
        ),
        Variable("max_index_keys", "32", "for clients that read it", always("32")),
        Variable("max_prepared_transactions", "0", "there is no PREPARE TRANSACTION", always("0")),
        Variable("max_identifier_length", "63", "for clients that read it", always("63")),
        Variable(
            "password_encryption", "scram-sha-256", "always scram-sha-256", always("scram-sha-256")
        ),
        Variable("server_encoding", "UTF8", "always UTF8", always("UTF8")),
        Variable(
            "server_version",
            SERVER_VERSION,
            "the PostgreSQL version whose dialect and protocol Reclock implements",
            always(SERVER_VERSION),
        ),
        Variable("server_version_num", "160000", "the same, as a number", always("160000")),
        Variable("session_authorization", DEFAULT_USER, "for clients that read it"),
        *(
            Variable(name, default, "of PostgreSQL; can be set, and changes nothing here")
            for name, default in _WITHOUT_EFFECT.items()
        ),
        *(
            Variable(name, "off", "of PostgreSQL; no transaction is deferred", always("off"))
            for name in ("transaction_deferrable", "default_transaction_deferrable")
        ),
        *(
            Variable(name, "0", "idle sessions are not ended", always("0"))
            for name in ("idle_in_transaction_session_timeout", "idle_session_timeout")
        ),
        Variable("row_security", "on", "there are no policies of rows", on_or_off),
        Variable("standard_conforming_strings", "on", "always on", always("on", "true")),
        Variable("synchronous_commit", "on", "always on", always("on")),
        Variable(
            "timezone",
            UTC_NAME,
            "the time zone of moments that are read and shown without one; definitions are in UTC",
            time_zone,
        ),
    )
}


_DEFAULTS = {name: variable.default for name, variable in VARIABLES.items()}


def checked(name: str, value: str | None) -> tuple[str, str | None]:
    """The name and the value of a default, in normal form. Raises ``UnknownVariable``,
    ``InvalidOption``."""
    variable = _variable(name)
    if variable.name == ROLE:
        raise InvalidOption(
            f'parameter "{ROLE}" has no default that could be changed',
            hint="SET ROLE is for a session",
        )
    return variable.name, None if value is None else _allowed(variable, value)


def configured(snapshot: CatalogSnapshot, role_id: str) -> dict[str, str]:
    """The defaults of a role's sessions: those of ALTER SYSTEM SET, and over them those of ALTER
    ROLE … SET.

    Variables and values that are no longer valid are left out.
    """
    system = {
        default.name: default.value for default in snapshot.all(Kind.SYSTEM_CONFIGURATION).values()
    }
    defaults = {}
    for name, value in {**system, **snapshot.roles[role_id].configuration}.items():
        with suppress(UnknownVariable, InvalidOption):
            defaults[name] = checked(name, value)[1] or ""
    return defaults


class SessionVariables:
    """The values of variables in one session."""

    def __init__(self, defaults: dict[str, str]) -> None:
        self._defaults = _DEFAULTS | defaults
        self._values: dict[str, str] = {}
        self._before: dict[str, str] = {}
        self._local: dict[str, str] = {}
        self.process_id = 0
        self.changes = 0
        """Counts the changes of values, so that a reader can tell whether to read them again."""
        self._names: tuple[int, SessionNames] | None = None
        """What ``names`` returned, and at which count of changes."""
        self._read: tuple[int, dict[str, str]] = 0, {}
        """What ``get`` returned since that count of changes."""

    def begin(self) -> None:
        """Begin a transaction."""
        self._before = dict(self._values)

    def end(self, *, is_committed: bool) -> None:
        """End the transaction: local values are dropped, and after a rollback all values that were
        set in it."""
        if self._local or not is_committed:
            self.changes += 1
        self._local.clear()
        if not is_committed:
            self._values = dict(self._before)

    def mark(self) -> tuple[dict[str, str], dict[str, str]]:
        """The values as they are, for ``rewind``."""
        return dict(self._values), dict(self._local)

    def rewind(self, mark: tuple[dict[str, str], dict[str, str]]) -> None:
        self._values, self._local = dict(mark[0]), dict(mark[1])
        self.changes += 1

    def get(self, name: str) -> str:
        """The value of the variable now. Raises ``UnknownVariable``."""
        if self._read[0] != self.changes:
            self._read = self.changes, {}
        known = self._read[1]
        if name not in known:
            known[name] = self._look_up(name)
        return known[name]

    def _look_up(self, name: str) -> str:
        variable = _variable(name)
        if variable.name == READ_ONLY and READ_ONLY not in self._local:
            return self.get(DEFAULT_READ_ONLY)
        for values in (self._local, self._values, self._defaults):
            if variable.name in values:
                return values[variable.name]
        raise _unknown(name)  # one of the client's own, which it has not set

    def set(self, name: str, value: str | None, *, is_local: bool = False) -> None:
        """Set a variable, or, with None, reset it to its default; ``is_local`` lasts until the end
        of the transaction.

        Raises ``UnknownVariable``, ``InvalidOption``.
        """
        variable = _variable(name)
        new_value = None if value is None else _allowed(variable, value)
        self.changes += 1
        if is_local:
            self._local[variable.name] = (
                self._defaults.get(variable.name, "") if new_value is None else new_value
            )
            return
        self._local.pop(variable.name, None)
        if new_value is None:
            self._values.pop(variable.name, None)
        else:
            self._values[variable.name] = new_value

    def would_change(self, name: str, value: str) -> bool:
        """Whether the variable has a value of another meaning now. Raises as ``set``."""
        new_value, current = _allowed(_variable(name), value), self.get(name)
        if name == ISOLATION:
            return is_strict(new_value) != is_strict(current)
        return new_value != current

    def reset(self) -> None:
        self._values.clear()
        self._local.clear()
        self.changes += 1

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        """Name, value and description of each, by name."""
        return (
            (name, value, _variable(name).description)
            for name, value in sorted(self._current().items())
        )

    @property
    def names(self) -> SessionNames:
        """What names mean, as far as the variables say it."""
        if self._names is None or self._names[0] != self.changes:
            self._names = self.changes, self._read_names()
        return self._names[1]

    def _read_names(self) -> SessionNames:
        path = tuple(name for name in schemas_of(self.get(SEARCH_PATH)) if name != USER_SCHEMA)
        database, cluster = self.get("database"), self.get("cluster")
        return SessionNames(
            database,
            path,
            cluster,
            max_recursion_iterations=int(self.get("max_recursion_iterations")),
            style=self.text_style(),
            process_id=lambda: self.process_id or os.getpid(),
            settings=self._current,
        )

    def zone(self) -> str:
        """The time zone."""
        return self.get("timezone")

    def text_style(self) -> TextStyle:
        """How values are written as text."""
        return TextStyle(self.zone(), self.get("intervalstyle"))

    def _current(self) -> dict[str, str]:
        return {name: self.get(name) for name in {*self._defaults, *self._values, *self._local}}

    @property
    def lock_timeout_ms(self) -> int:
        """0 if there is none."""
        return milliseconds_of(self.get("lock_timeout"))

    @property
    def statement_timeout_ms(self) -> int:
        return milliseconds_of(self.get("statement_timeout"))

    @property
    def is_read_only(self) -> bool:
        """Whether the transaction, or a statement outside a block, may only read."""
        return self.get(READ_ONLY) == "on"

    @property
    def max_result_bytes(self) -> int:
        """0 is no limit."""
        return bytes_of(self.get("max_result_size"))


def _allowed(variable: Variable, value: str) -> str:
    try:
        return variable.check(value)
    except ValueError as allowed:
        raise InvalidOption(
            f'invalid value for parameter "{variable.name}": "{value}"', hint=str(allowed)
        ) from None


def _variable(name: str) -> Variable:
    """The variable of that name, or, if it has a dot, one of the client's own."""
    folded = name.lower()
    if folded in VARIABLES:
        return VARIABLES[folded]
    if _OWN.fullmatch(folded):
        return Variable(folded, "", "of the client's own")
    raise _unknown(name)


_OWN = re.compile(r"[^.\s]+\.[^.\s]+")


def _unknown(name: str) -> UnknownVariable:
    return UnknownVariable(name, hint=nearest(name.lower(), VARIABLES))

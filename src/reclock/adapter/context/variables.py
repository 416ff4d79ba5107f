"""Session variables: their names, defaults and allowed values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from reclock.algebra.byte_sizes import BYTE_UNITS, bytes_of
from reclock.algebra.zones import UTC_NAME, session_zone_name
from reclock.catalog.objects import Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InvalidOption, UnknownObject
from reclock.sql.names import (
    DEFAULT_DATABASE,
    DEFAULT_SCHEMA,
    DEFAULT_USER,
    MATERIALIZE_VERSION,
    MAX_RECURSION_ITERATIONS,
    SERVER_VERSION,
    SessionNames,
    nearest,
    quote,
)

ROLE = "role"
READ_ONLY, DEFAULT_READ_ONLY = "transaction_read_only", "default_transaction_read_only"
STRICT_SERIALIZABLE = "strict serializable"
SERIALIZABLE = "serializable"
_WEAKER_LEVELS = ("read uncommitted", "read committed", "repeatable read")
FAIL = "fail"
LAST_COMPLETE = "last_complete"
SEARCH_PATH = "search_path"


@dataclass(frozen=True, slots=True)
class Variable:
    """``check`` returns the value to store, or raises ``ValueError`` with the values that are
    allowed."""

    name: str
    default: str
    description: str
    check: Callable[[str], str] = str


def _one_of(*values: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        folded = value.lower()
        if folded not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return folded

    return check


def _isolation_level(value: str) -> str:
    level = _one_of(STRICT_SERIALIZABLE, SERIALIZABLE, *_WEAKER_LEVELS)(value)
    return STRICT_SERIALIZABLE if level in _WEAKER_LEVELS else level


def _always(value: str, *same: str) -> Callable[[str], str]:
    """Accepts only spellings of the one value of a variable that cannot be changed."""
    spellings = {spelling.lower().replace(" ", "") for spelling in (value, *same)}

    def check(text: str) -> str:
        if text.lower().replace(" ", "").strip("'") not in spellings:
            raise ValueError(f"it is always {value}")
        return value

    return check


_TIME_UNITS = {
    "us": Decimal("0.001"),
    "ms": Decimal(1),
    "s": Decimal(1000),
    "min": Decimal(60_000),
    "h": Decimal(3_600_000),
    "d": Decimal(86_400_000),
}


@lru_cache(maxsize=256)
def milliseconds_of(value: str) -> int:
    """The value of a setting in milliseconds. Raises ``ValueError``."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,9})?)\s*([a-z]*)", value.strip())
    if match is None or (match[2] and match[2] not in _TIME_UNITS):
        raise ValueError("milliseconds, or a number with us, ms, s, min, h or d behind it")
    return round(Decimal(match[1]) * _TIME_UNITS[match[2] or "ms"])


def _milliseconds(value: str) -> str:
    return _with_unit(milliseconds_of(value), _SHOWN_TIME_UNITS)


_SHOWN_TIME_UNITS = {unit: int(ms) for unit, ms in _TIME_UNITS.items() if ms >= 1}


def _with_unit(value: int, units: Mapping[str, int]) -> str:
    """``value`` as PostgreSQL shows a setting: in the largest unit in which it is whole. ``units``
    are ascending."""
    if value == 0:
        return "0"
    unit = max((unit for unit in units if value % units[unit] == 0), key=units.__getitem__)
    return f"{value // units[unit]}{unit}"


def _positive(value: str) -> str:
    if re.fullmatch(r"\d{1,9}", value.strip()) is None or int(value) == 0:
        raise ValueError("a whole number from 1 to 999999999")
    return str(int(value))


def _time_zone(value: str) -> str:
    """The name of the zone; a number is an offset from UTC in whole hours."""
    name = value.strip("'")
    if re.fullmatch(r"[-+]?\d{1,2}(\.0*)?", name):
        hours = round(float(name))
        name = f"Etc/GMT{-hours:+d}" if hours else UTC_NAME
    elif name.lower().replace(" ", "") in _UTC_NAMES:
        name = UTC_NAME
    if (zone := session_zone_name(name)) is None:
        raise ValueError("one of pg_timezone_names, such as Europe/Berlin, or hours ahead of UTC")
    return zone


_UTC_NAMES = ("local", "default", "00:00", "+00:00", "gmt", "etc/utc")
"""Other names of UTC, which is also the zone of the server."""


USER_SCHEMA = "$user"
_SCHEMA = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",]*?))\s*(,|$)')


@lru_cache(maxsize=256)
def schemas_of(path: str) -> tuple[str, ...]:
    """The schemas that a search path names, in their order. A name without quotes folds to lower
    case. Raises ``ValueError``."""
    names, at = [], 0
    while path.strip():
        match = _SCHEMA.match(path, at)
        if match is None:
            raise ValueError("names of schemas, separated by commas")
        quoted, plain, comma = match.groups()
        names.append(plain.lower() if quoted is None else quoted.replace('""', '"'))
        if not comma:
            break
        at = match.end()
    return tuple(name for name in names if name)


def _search_path(value: str) -> str:
    return ", ".join(map(quote, schemas_of(value)))


def text_of_values(name: str, values: Iterable[str]) -> str:
    """The text of what a statement sets a variable to, such as ``SET name = a, b``."""
    return ", ".join(map(quote, values)) if name.lower() == SEARCH_PATH else ",".join(values)


def _on_or_off(value: str) -> str:
    if value.lower() not in ("on", "off", "true", "false", "yes", "no", "1", "0"):
        raise ValueError("on or off")
    return "on" if value.lower() in ("on", "true", "yes", "1") else "off"


def _bytes(value: str) -> str:
    return _with_unit(bytes_of(value), BYTE_UNITS)


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
            _positive,
        ),
        Variable(
            "max_result_size",
            "1GB",
            "most bytes that a query may return, also as 64MB; 0 is no limit",
            _bytes,
        ),
        Variable(
            SEARCH_PATH,
            DEFAULT_SCHEMA,
            'schemas where unqualified names are looked up, separated by commas; "$user" is none',
            _search_path,
        ),
        Variable(
            "stalled_reads",
            FAIL,
            (
                "reads of a stalled source fail, or (last_complete) answer at the newest "
                "time at which it is complete"
            ),
            _one_of(FAIL, LAST_COMPLETE),
        ),
        Variable(
            "statement_timeout",
            "",
            "how long a statement may take, as 500ms or 1min; 0 is for ever; the "
            "environment's setting unless set",
            _milliseconds,
        ),
        Variable(
            "transaction_isolation",
            STRICT_SERIALIZABLE,
            (
                "strict serializable reads wait until all applied writes are visible, "
                "serializable reads never wait; PostgreSQL's weaker levels become the former"
            ),
            _isolation_level,
        ),
        # Variables that clients of Materialize set at startup.
        Variable(
            "auto_route_catalog_queries",
            "on",
            "queries of system relations alone always run on the system cluster",
            _always("on", "true"),
        ),
        Variable(
            "current_object_missing_warnings",
            "off",
            "nothing warns of a missing default cluster or database",
            _always("off", "false"),
        ),
        Variable(
            "mz_version",
            MATERIALIZE_VERSION,
            "the version of Materialize whose clients are answered",
            _always(MATERIALIZE_VERSION),
        ),
        Variable("welcome_message", "off", "there is none", _always("off", "false")),
        # Variables that clients of PostgreSQL read, set or receive at startup.
        Variable("application_name", "", "the name that the client gives itself"),
        Variable("client_encoding", "UTF8", "always UTF8", _always("UTF8", "UTF-8", "UNICODE")),
        Variable("client_min_messages", "notice", "for clients that set it; has no effect"),
        Variable("bytea_output", "hex", "always hex", _always("hex")),
        Variable(
            "datestyle",
            "ISO, MDY",
            "dates are written as in ISO 8601",
            _always("ISO, MDY", "ISO", "ISO, YMD", "ISO, DMY"),
        ),
        Variable(
            "default_table_access_method", "heap", "for clients that read it", _always("heap")
        ),
        Variable("default_transaction_isolation", STRICT_SERIALIZABLE, "for clients that read it"),
        Variable(
            DEFAULT_READ_ONLY, "off", "whether transactions are READ ONLY by default", _on_or_off
        ),
        Variable(
            READ_ONLY,
            "off",
            "whether the transaction is READ ONLY; once on, until its end",
            _on_or_off,
        ),
        Variable(
            "extra_float_digits", "1", "for clients that set it; numbers are always written exactly"
        ),
        Variable("integer_datetimes", "on", "always on", _always("on")),
        Variable("intervalstyle", "postgres", "always postgres", _always("postgres")),
        Variable("is_superuser", "off", "for clients that read it", _always("off")),
        Variable(
            "lock_timeout",
            "0",
            "how long a statement waits for an advisory lock; 0 is no limit of its own",
            _milliseconds,
        ),
        Variable("max_index_keys", "32", "for clients that read it", _always("32")),
        Variable("max_identifier_length", "63", "for clients that read it", _always("63")),
        Variable(
            "password_encryption", "scram-sha-256", "always scram-sha-256", _always("scram-sha-256")
        ),
        Variable("server_encoding", "UTF8", "always UTF8", _always("UTF8")),
        Variable(
            "server_version",
            SERVER_VERSION,
            "the PostgreSQL version whose dialect and protocol Reclock implements",
            _always(SERVER_VERSION),
        ),
        Variable("server_version_num", "160000", "the same, as a number", _always("160000")),
        Variable("session_authorization", DEFAULT_USER, "for clients that read it"),
        *(
            Variable(name, default, "of PostgreSQL; can be set, and changes nothing here")
            for name, default in _WITHOUT_EFFECT.items()
        ),
        *(
            Variable(name, "0", "idle sessions are not ended", _always("0"))
            for name in ("idle_in_transaction_session_timeout", "idle_session_timeout")
        ),
        Variable("row_security", "on", "there are no policies of rows", _on_or_off),
        Variable("standard_conforming_strings", "on", "always on", _always("on", "true")),
        Variable("synchronous_commit", "on", "always on", _always("on")),
        Variable(
            "timezone",
            UTC_NAME,
            "the time zone of moments that are read and shown without one; definitions are in UTC",
            _time_zone,
        ),
    )
}


_DEFAULTS = {name: variable.default for name, variable in VARIABLES.items()}


def checked(name: str, value: str | None) -> tuple[str, str | None]:
    """The name and the value of a default, in normal form. Raises ``UnknownObject``,
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
        with suppress(UnknownObject, InvalidOption):
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
        """The value of the variable now. Raises ``UnknownObject``."""
        variable = _variable(name)
        if variable.name == READ_ONLY and READ_ONLY not in self._local:
            return self.get(DEFAULT_READ_ONLY)
        value = self._local.get(variable.name) or self._values.get(
            variable.name, self._defaults.get(variable.name)
        )
        if value is None:  # one of the client's own, which it has not set
            raise _unknown(name)
        return value

    def set(self, name: str, value: str | None, *, is_local: bool = False) -> None:
        """Set a variable, or, with None, reset it to its default; ``is_local`` lasts until the end
        of the transaction.

        Raises ``UnknownObject``, ``InvalidOption``.
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
            zone=self.zone(),
            process_id=lambda: self.process_id or os.getpid(),
            settings=self._current,
        )

    def zone(self) -> str:
        """The time zone."""
        return self.get("timezone")

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


def _unknown(name: str) -> UnknownObject:
    return UnknownObject("configuration parameter", name, hint=nearest(name.lower(), VARIABLES))

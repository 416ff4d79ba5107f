"""``has_table_privilege``, ``pg_has_role`` and their like: an SQL expression for each call, over the
role, the object and, last, the privileges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reclock.algebra.relations import (
    OID,
    REGCLASS,
    REGNAMESPACE,
    REGROLE,
    REGTYPE,
    TEXT,
    ScalarType,
)
from reclock.errors import InvalidOption

_OWNERSHIP = "OWNERSHIP"
"""In ``mz_held_privileges``: the role owns the object, or is a superuser."""
_EVERYONE = frozenset({"CONNECT", "TEMP", "TEMPORARY"})
"""Privileges of PostgreSQL that every role has here."""
_OF_OWNERS = frozenset({"TRUNCATE", "REFERENCES", "TRIGGER"})
"""Privileges of PostgreSQL that cannot be granted here."""
_OPTIONS = (" WITH GRANT OPTION", " WITH ADMIN OPTION")


@dataclass(frozen=True, slots=True)
class PrivilegeFunction:
    """``kind`` is that of the objects in ``mz_held_privileges``; None if every role has the
    privileges on all of them. ``object_type`` is None for the system as a whole. ``columns`` are
    the arguments between the object and the privileges. ``exists`` is a query that has a row if the
    arguments name something. ``named`` is what a text names among objects that no type of ids is
    of: a database, a cluster, …"""

    kind: str | None
    object_type: ScalarType | None
    privileges: frozenset[str]
    columns: tuple[ScalarType, ...] = ()
    exists: str | None = None
    named: str | None = None

    @property
    def types(self) -> tuple[ScalarType, ...]:
        """Of the arguments: the role, the object if there is one, and the last is the
        privileges."""
        object_types = () if self.object_type is None else (self.object_type,)
        return REGROLE, *object_types, *self.columns, TEXT

    @property
    def _object(self) -> str:
        return "0" if self.object_type is None else "argument2::oid"

    def body(self, privileges: str | None) -> str:
        """The expression over ``argument1``, …: NULL where an argument is, or where there is no such
        object. ``privileges`` are those of the call if they are a constant. Raises
        ``InvalidOption`` for a word that is no privilege of such objects."""
        last = f"argument{len(self.types)}"
        are_given = " AND ".join(
            f"argument{place} IS NOT NULL" for place in range(1, len(self.types))
        )
        is_held = self._is_held(f"upper({last})" if privileges is None else self._names(privileges))
        exists = "" if self.kind is None else f" AND {self._has_rows}"
        if self.exists is not None:
            exists += f" AND (SELECT count(*) > 0 FROM {self.exists})"
        return f"CASE WHEN {are_given} AND {last} IS NOT NULL{exists} THEN {is_held} END"

    def _is_held(self, names: str | frozenset[str]) -> str:
        if self.kind is None or (not isinstance(names, str) and names & _EVERYONE):
            return "TRUE"
        is_wanted = f"= {names}" if isinstance(names, str) else f"IN ({_listed(names)})"
        is_held = (
            f"(SELECT count(*) > 0 FROM mz_internal.mz_held_privileges WHERE kind = '{self.kind}' "
            f"AND role_oid = argument1::oid AND oid = {self._object} AND privilege {is_wanted})"
        )
        return (
            f"({names} IN ({_listed(_EVERYONE)}) OR {is_held})"
            if isinstance(names, str)
            else is_held
        )

    @property
    def _has_rows(self) -> str:
        return (
            "(SELECT count(*) > 0 FROM mz_internal.mz_held_privileges "
            f"WHERE kind = '{self.kind}' AND oid = {self._object})"
        )

    def _names(self, privileges: str) -> frozenset[str]:
        """In ``mz_held_privileges``, those of a list with commas."""
        return frozenset(self._name(word.strip()) for word in privileges.split(","))

    def _name(self, written: str) -> str:
        word = written.upper()
        option = next((option for option in _OPTIONS if word.endswith(option)), "")
        name = word.removesuffix(option)
        if name not in self.privileges or (option == _OPTIONS[1] and self.kind != "role"):
            raise InvalidOption(f'unrecognized privilege type: "{written}"')
        return _OWNERSHIP if option or name in _OF_OWNERS else name


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))


_OF_COLUMNS = frozenset({"SELECT", "INSERT", "UPDATE", "REFERENCES"})
_USAGE = frozenset({"USAGE"})
PRIVILEGE_FUNCTIONS: Mapping[str, PrivilegeFunction] = {
    "has_table_privilege": PrivilegeFunction(
        "relation", REGCLASS, _OF_COLUMNS | _OF_OWNERS | {"DELETE"}
    ),
    "has_any_column_privilege": PrivilegeFunction("relation", REGCLASS, _OF_COLUMNS),
    "has_column_privilege": PrivilegeFunction(
        "relation",
        REGCLASS,
        _OF_COLUMNS,
        (TEXT,),
        "pg_catalog.pg_attribute WHERE attrelid = argument2::oid "
        "AND argument3 IN (attname, attnum::text)",
    ),
    "has_sequence_privilege": PrivilegeFunction(
        "relation", REGCLASS, frozenset({"USAGE", "SELECT", "UPDATE"})
    ),
    "has_schema_privilege": PrivilegeFunction(
        "schema", REGNAMESPACE, frozenset({"CREATE", "USAGE"})
    ),
    "has_database_privilege": PrivilegeFunction(
        "database",
        OID,
        frozenset({"CREATE", "USAGE", "CONNECT", "TEMP", "TEMPORARY"}),
        named="database",
    ),
    "has_cluster_privilege": PrivilegeFunction(
        "cluster", OID, frozenset({"CREATE", "USAGE"}), named="cluster"
    ),
    "has_system_privilege": PrivilegeFunction(
        "system", None, frozenset({"CREATEROLE", "CREATEDB", "CREATECLUSTER"})
    ),
    "has_connection_privilege": PrivilegeFunction(
        "relation",
        OID,
        _USAGE,
        exists="mz_catalog.mz_connections WHERE oid = argument2::oid",
        named="connection",
    ),
    "has_secret_privilege": PrivilegeFunction(
        "relation",
        OID,
        _USAGE,
        exists="mz_catalog.mz_secrets WHERE oid = argument2::oid",
        named="secret",
    ),
    "has_type_privilege": PrivilegeFunction(
        None, REGTYPE, _USAGE, exists="pg_catalog.pg_type WHERE oid = argument2::oid"
    ),
    "has_language_privilege": PrivilegeFunction(None, TEXT, _USAGE),
    "has_function_privilege": PrivilegeFunction(None, TEXT, frozenset({"EXECUTE"})),
    "pg_has_role": PrivilegeFunction("role", REGROLE, frozenset({"USAGE", "MEMBER", "SET"})),
    "has_role": PrivilegeFunction("role", REGROLE, frozenset({"USAGE", "MEMBER", "SET"})),
}

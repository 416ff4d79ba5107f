"""Planned statements about secrets and connections."""

from __future__ import annotations

from dataclasses import dataclass, field

from reclock.algebra.ids import GlobalId
from reclock.definitions.connections import Connection
from reclock.sql.names import QualifiedName


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A value on its way to where it is kept, under ``reference``. Nothing that shows it shows the value."""

    reference: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CreateSecret:
    name: QualifiedName
    create_sql: str
    secret: NewSecret
    tag: str = "CREATE SECRET"


@dataclass(frozen=True, slots=True)
class AlterSecret:
    """The secret's value is another one from now on, also for what uses it."""

    id: GlobalId
    name: QualifiedName
    create_sql: str
    secret: NewSecret
    tag: str = "ALTER SECRET"


@dataclass(frozen=True, slots=True)
class CreateConnection:
    """``is_validated`` asks for a look at the other end first."""

    name: QualifiedName
    create_sql: str
    connection: Connection
    depends_on: frozenset[GlobalId]
    is_validated: bool
    tag: str = "CREATE CONNECTION"


@dataclass(frozen=True, slots=True)
class ValidateConnection:
    id: GlobalId
    name: QualifiedName
    connection: Connection
    tag: str = "VALIDATE CONNECTION"


ConnectionStatement = CreateSecret | AlterSecret | CreateConnection | ValidateConnection

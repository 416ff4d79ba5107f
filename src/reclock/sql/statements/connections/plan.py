"""Secrets and connections: what the statements define."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import Item, ItemType
from reclock.definitions.connections import (
    ALIASES,
    OPTIONS,
    Connection,
    Option,
    Secrecy,
    SecretReference,
)
from reclock.errors import InvalidOption
from reclock.sql.catalog.entries import ConnectionEntry, SecretEntry
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, nearest, parts
from reclock.sql.planning.definitions import definition_text, skip_existing, skip_missing
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.statements.connections.syntax import (
    AlterConnectionStatement,
    AlterSecretStatement,
    ConnectionOption,
    CreateConnectionStatement,
    CreateSecretStatement,
    SecretName,
    SetConnectionOptions,
    ValidateConnectionStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.nodes import HIDDEN
from reclock.sql.syntax.parse import parse_one

# --- secrets ---


@plans(CreateSecretStatement)
def create_secret(
    node: CreateSecretStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateSecret | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.SECRET, catalog)
    if skipped is not None:
        return skipped
    secret = _new(node)
    return CreateSecret(name, _secret_text(name.to_table(), secret), secret)


@plans(AlterSecretStatement)
def alter_secret(
    node: AlterSecretStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterSecret:
    entry = find_object(parts(node.this), "SECRET", catalog, session)
    secret = _new(node)
    return AlterSecret(entry.id, entry.name, _secret_text(entry.name.to_table(), secret), secret)


def _new(node: nodes.Statement) -> NewSecret:
    if HIDDEN not in node.meta:
        raise InvalidOption("a secret needs a value", hint="write AS '…'")
    return NewSecret(node.args["reference"].name, node.meta[HIDDEN])


def _secret_text(name: exp.Table, secret: NewSecret) -> str:
    return definition_text(
        CreateSecretStatement(this=name, reference=exp.Literal.string(secret.reference))
    )


# --- connections ---


@dataclass(frozen=True, slots=True)
class DefinedConnection:
    connection: Connection
    depends_on: frozenset[GlobalId]


@plans(CreateConnectionStatement)
def create_connection(
    node: CreateConnectionStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateConnection | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.CONNECTION, catalog)
    if skipped is not None:
        return skipped
    normal = tracked_copy(node)
    definition = define_connection(normal, catalog, session)
    for argument in ("exists", "options"):
        normal.set(argument, None)
    normal.set("this", name.to_table())
    return CreateConnection(
        name,
        definition_text(normal),
        definition.connection,
        definition.depends_on,
        _is_validated(node),
    )


@plans(AlterConnectionStatement)
def alter_connection(
    node: AlterConnectionStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterConnection | Skipped:
    name = parts(node.this)
    skipped = skip_missing(node, "CONNECTION", catalog.find(name, session))
    if skipped is not None:
        return skipped
    entry = find_object(name, "CONNECTION", catalog, session)
    assert isinstance(entry, ConnectionEntry)
    definition = parse_one(entry.create_sql)
    assert isinstance(definition, CreateConnectionStatement)
    kind = entry.connection.kind
    options = {option.args["name"]: option for option in definition.args["connection_options"]}
    for option_name, option in _changed_options(tracked_copy(node), kind).items():
        if option is None:
            options.pop(option_name, None)
        else:
            options[option_name] = option
    definition.set("connection_options", list(options.values()))
    altered = define_connection(definition, catalog, session)
    return AlterConnection(
        entry.id,
        entry.name,
        definition_text(definition),
        altered.connection,
        altered.depends_on,
        _is_validated(node),
    )


def _changed_options(
    node: AlterConnectionStatement, kind: str
) -> dict[str, ConnectionOption | None]:
    """The options that SET has, and None for each that RESET has."""
    changes: list[tuple[str, ConnectionOption | None]] = []
    for action in node.args["actions"]:
        if isinstance(action, SetConnectionOptions):
            options = action.args["connection_options"]
            changes += [(_option_name(option.args["name"], kind), option) for option in options]
        else:
            changes += [(_option_name(name.name, kind), None) for name in action.args["names"]]
    changed: dict[str, ConnectionOption | None] = {}
    for name, option in changes:
        if name in changed:
            raise InvalidOption(f"option {name} is given twice")
        changed[name] = option
    return changed


def _option_name(written: str, kind: str) -> str:
    """The name of the option of that name or alias. Raises ``InvalidOption``."""
    name = ALIASES.get(kind, {}).get(written, written)
    if name not in OPTIONS[kind]:
        raise InvalidOption(
            f"a connection to {kind} has no option {written}",
            hint=f"its options are {', '.join(OPTIONS[kind])}",
        )
    return name


def _is_validated(node: nodes.Statement) -> bool:
    """Whether the statement connects to the other end first: ``WITH (VALIDATE = …)``."""
    is_validated = True
    for option in node.args.get("options") or ():
        if fold(option.this) != "validate" or not isinstance(option.args["value"], exp.Boolean):
            raise InvalidOption("WITH takes VALIDATE = TRUE or FALSE")
        is_validated = option.args["value"].this
    return is_validated


def define_connection(
    node: CreateConnectionStatement, catalog: PlannerCatalog, session: SessionNames
) -> DefinedConnection:
    """The connection that the statement describes. The secrets that ``node`` names are then
    qualified in it."""
    kind: str = node.args["kind"]
    options: dict[str, str | SecretReference] = {}
    depends_on: set[GlobalId] = set()
    for clause in node.args["connection_options"]:
        name, value = _option_name(clause.args["name"], kind), clause.args["value"]
        clause.set("name", name)
        if name in options:
            raise InvalidOption(f"option {name} is given twice")
        if isinstance(value, SecretName):
            secret = find_object(parts(value.this), "SECRET", catalog, session)
            assert isinstance(secret, SecretEntry)
            value.set("this", secret.name.to_table())
            depends_on.add(secret.id)
            options[name] = SecretReference(str(secret.name), secret.reference)
        else:
            options[name] = value.name
        options[name] = _checked(name, options[name], OPTIONS[kind][name])
    for name, option in OPTIONS[kind].items():
        if option.is_required and name not in options:
            raise InvalidOption(f"a connection to {kind} needs the option {name}")
    return DefinedConnection(
        Connection(kind, tuple((name, options[name]) for name in OPTIONS[kind] if name in options)),
        frozenset(depends_on),
    )


def _checked(name: str, value: str | SecretReference, option: Option) -> str | SecretReference:
    if isinstance(value, SecretReference):
        if option.secrecy is Secrecy.PLAIN:
            raise InvalidOption(f"{name} is no secret", hint="write its value")
        return value
    if option.secrecy is Secrecy.SECRET:
        raise InvalidOption(
            f"{name} must be a secret: others can read a definition",
            hint=f"CREATE SECRET …, then {name} = SECRET …",
        )
    if not value:
        raise InvalidOption(f"{name} cannot be empty")
    if option.choices:
        match = next((choice for choice in option.choices if choice.lower() == value.lower()), None)
        if match is None:
            raise InvalidOption(
                f'invalid value "{value}" of {name}',
                hint=nearest(value, option.choices) or f"one of {', '.join(option.choices)}",
            )
        return match
    return value


@plans(ValidateConnectionStatement)
def validate_connection(
    node: ValidateConnectionStatement, catalog: PlannerCatalog, session: SessionNames
) -> ValidateConnection:
    entry = find_object(parts(node.this), "CONNECTION", catalog, session)
    assert isinstance(entry, ConnectionEntry)
    return ValidateConnection(entry.id, entry.name, entry.connection)


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A new value of a secret, to be stored under ``reference``. Its representations do not show
    the value."""

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
    """Change the secret's value, also for everything that uses it."""

    id: GlobalId
    name: QualifiedName
    create_sql: str
    secret: NewSecret
    tag: str = "ALTER SECRET"


@dataclass(frozen=True, slots=True)
class CreateConnection:
    """``is_validated``: connect to the other end first."""

    name: QualifiedName
    create_sql: str
    connection: Connection
    depends_on: frozenset[GlobalId]
    is_validated: bool
    tag: str = "CREATE CONNECTION"


@dataclass(frozen=True, slots=True)
class AlterConnection:
    """Change the options of the connection, also for everything that uses it. ``is_validated``:
    connect to the other end first."""

    id: GlobalId
    name: QualifiedName
    create_sql: str
    connection: Connection
    depends_on: frozenset[GlobalId]
    is_validated: bool
    tag: str = "ALTER CONNECTION"


@dataclass(frozen=True, slots=True)
class ValidateConnection:
    id: GlobalId
    name: QualifiedName
    connection: Connection
    tag: str = "VALIDATE CONNECTION"


@plans_item(CreateSecretStatement)
def secret_entry(
    node: CreateSecretStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> SecretEntry:
    return SecretEntry(item.id, name, node.args["reference"].name, item.create_sql or "")


@plans_item(CreateConnectionStatement)
def connection_entry(
    node: CreateConnectionStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> ConnectionEntry:
    definition = define_connection(node, catalog, SessionNames())
    return ConnectionEntry(
        item.id, name, definition.connection, item.create_sql or "", definition.depends_on
    )

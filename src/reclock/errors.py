"""Every error a user can meet. One root; each subclass fixes a SQLSTATE and builds its message from its fields."""

from __future__ import annotations


class ReclockError(Exception):
    """The root. ``message`` is lowercase and names the object in double quotes; ``detail`` and ``hint`` stand apart."""

    sqlstate = "XX000"

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint


class InternalError(ReclockError):
    """An invariant did not hold. Always a bug of Reclock's."""


class ConfigurationError(ReclockError):
    """A setting is missing, unknown or out of its range."""

    sqlstate = "F0000"


# --- consensus, collections, oracle ---


class UpperMismatch(ReclockError):
    """A conditional write found another upper than the one it was decided on. Read again, decide again."""

    sqlstate = "40001"

    def __init__(self, name: str, *, expected: int, found: int | None) -> None:
        super().__init__(f'upper of "{name}" is {found}, expected {expected}')
        self.name, self.expected, self.found = name, expected, found


class ClaimConflict(ReclockError):
    """A frontier group is claimed by another writer, or the claim this writer held is no longer its own."""

    sqlstate = "40001"

    def __init__(self, group: str, *, detail: str | None = None) -> None:
        super().__init__(f'frontier group "{group}" is claimed by another writer', detail=detail)
        self.group = group


class Fenced(ReclockError):
    """A newer epoch or deploy generation has taken over; this process may write no more."""

    sqlstate = "57P03"

    def __init__(self, *, own: tuple[int, int], found: tuple[int, int]) -> None:
        super().__init__(
            f"fenced by a newer environment: epoch {found[0]}, deploy generation {found[1]}",
            detail=f"this process holds epoch {own[0]}, deploy generation {own[1]}",
            hint="start the process again to join the current epoch",
        )
        self.own, self.found = own, found


class NotReadable(ReclockError):
    """A read was asked for at a time outside ``[since, upper)``."""

    sqlstate = "22023"

    def __init__(self, name: str, *, at: int, since: int, upper: int) -> None:
        if at < since:
            hint = f"the earliest time that can be read is {since}"
        else:
            hint = f"the collection is complete below {upper}"
        super().__init__(
            f'"{name}" cannot be read at {at}',
            detail=f"its since is {since}, its upper is {upper}",
            hint=hint,
        )
        self.name, self.at, self.since, self.upper = name, at, since, upper


class UnknownCollection(ReclockError):
    """A collection is not, or no longer, in the lake or in consensus."""

    sqlstate = "42P01"

    def __init__(self, name: str) -> None:
        super().__init__(f'unknown collection "{name}"')
        self.name = name


class DroppedMeanwhile(ReclockError):
    """What a statement was planned to read or write was dropped by somebody else before it could."""

    sqlstate = "42P01"

    def __init__(self, name: str) -> None:
        super().__init__(f'"{name}" was dropped while the statement ran')
        self.name = name


class ClusterDropped(ReclockError):
    """The cluster that a query ran on was dropped before it was answered."""

    sqlstate = "42704"

    def __init__(self, name: str) -> None:
        super().__init__(f'query could not complete because cluster "{name}" was dropped', hint="SET cluster to another one")
        self.name = name


class VersionGone(ReclockError):
    """The files of a version that is being read were deleted after a compaction. Pin the newest version and read again."""

    sqlstate = "40001"

    def __init__(self, name: str, *, version: int) -> None:
        super().__init__(
            f'version {version} of "{name}" is gone',
            detail="its files were replaced by a compaction, then deleted",
            hint="read again",
        )
        self.name, self.version = name, version


class CollectionExists(ReclockError):
    """A collection of this id is there already, with another schema."""

    sqlstate = "42P07"

    def __init__(self, name: str) -> None:
        super().__init__(f'collection "{name}" already exists')
        self.name = name


class InvalidSchema(ReclockError):
    """A relation has columns that the lake cannot hold: reserved or repeated names, a type that is never stored."""

    sqlstate = "42P16"


class SinceHeld(ReclockError):
    """``since`` cannot move: a reader, an index or a sink still needs earlier times."""

    sqlstate = "55006"

    def __init__(self, group: str, *, wanted: int, held: int) -> None:
        super().__init__(f'since of "{group}" cannot move to {wanted}', detail=f"a read hold keeps it at {held}")
        self.group, self.wanted, self.held = group, wanted, held


class TimestampNotAllowed(ReclockError):
    """A timestamp given by hand must lie in ``(ReadTs, now]``."""

    sqlstate = "22023"

    def __init__(self, at: int, *, read_ts: int, now: int) -> None:
        super().__init__(
            f"timestamp {at} cannot be written at",
            detail=f"it must be greater than {read_ts} and not greater than {now}",
        )
        self.at, self.read_ts, self.now = at, read_ts, now


class StatementTimeout(ReclockError):
    """A statement waited longer than ``statement_timeout``."""

    sqlstate = "57014"

    def __init__(self, timeout_ms: int, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(f"canceling statement due to statement timeout ({timeout_ms} ms)", detail=detail, hint=hint)
        self.timeout_ms = timeout_ms


class ConsensusUnavailable(ReclockError):
    """The consensus database cannot be reached, or stayed locked for too long. Nothing was written."""

    sqlstate = "08006"

    def __init__(self, *, detail: str | None = None) -> None:
        super().__init__(
            "the consensus database is not available", detail=detail, hint="check consensus_url and that the database is up"
        )


class ConsensusOutcomeUnknown(ReclockError):
    """The connection to consensus broke during a commit: it may have happened or not. Read before doing it again."""

    sqlstate = "08007"

    def __init__(self, *, detail: str | None = None) -> None:
        super().__init__("the connection to the consensus database was lost during a commit", detail=detail)


class LeadershipUnknown(Fenced):
    """Consensus knows of no epoch at all: it is another database than the one this process began with, or a new one."""

    def __init__(self, *, own: tuple[int, int]) -> None:
        super().__init__(own=own, found=(0, 0))
        self.args = (message := "fenced: consensus knows of no epoch",)
        self.message = message
        self.hint = "the consensus database is new or was replaced; start the process again"


class TermOver(ReclockError):
    """Another process leads the controller by now. Its former leader stops; clients do not see this."""

    sqlstate = "40001"

    def __init__(self, controller: str, *, own: int) -> None:
        super().__init__(f"term {own} of the {controller} controller is over", detail="another process leads it")


class ReportersGone(ReclockError):
    """Others report in those names by now: what this process still had to say in them is not kept. Clients do not see this."""

    sqlstate = "40001"

    def __init__(self, tokens: frozenset[str]) -> None:
        super().__init__(f"{len(tokens)} reporters of introspection were replaced")
        self.tokens = tokens


class UntargetedLogRead(ReclockError):
    """Each replica has a log of its own, and the session does not say whose is meant."""

    sqlstate = "0A000"

    def __init__(self, replicas: list[str]) -> None:
        super().__init__(
            "log source reads must target a replica",
            detail=f"replicas of the active cluster: {', '.join(replicas) or 'none'}",
            hint="SET cluster_replica = <name>, or read the relation whose name ends in _unified, which has those of all replicas",
        )


class NothingClaimed(ReclockError):
    """A decision was made about a claim, but the frontier group has none."""

    sqlstate = "55000"

    def __init__(self, group: str) -> None:
        super().__init__(f'nothing of "{group}" is stalled', hint="decisions are about a step that does not go on")
        self.group = group


class ReadHoldLost(ReclockError):
    """A read hold ran out or was released; what it protected may be compacted."""

    sqlstate = "72000"

    def __init__(self, owner: str, *, at: int) -> None:
        super().__init__(f'read hold of "{owner}" at {at} is gone', hint="read again, at a later time if need be")
        self.owner, self.at = owner, at


class WriteConflict(ReclockError):
    """A transaction read a table that another one has written since. Read again, decide again."""

    sqlstate = "40001"

    def __init__(self, table: str, *, read_at: int) -> None:
        super().__init__(
            "could not serialize access due to concurrent update",
            detail=f'table "{table}", read at {read_at}, was written since',
            hint="the transaction might succeed if retried",
        )
        self.table, self.read_at = table, read_at


class CatalogMoved(ReclockError):
    """A write was planned on a catalog that has changed since. Look whether it still fits, and commit it again."""

    sqlstate = "40001"

    def __init__(self, *, planned: int, found: int) -> None:
        super().__init__(f"the catalog is at {found}, the statement was planned at {planned}", hint="plan it again")
        self.planned, self.found = planned, found


class StagedRowsGone(ReclockError):
    """Rows that were staged for a commit were swept away because the commit did not come within the lease."""

    sqlstate = "57014"

    def __init__(self, name: str) -> None:
        super().__init__(
            "the rows of the statement were staged too long ago",
            detail=f'the lease of "{name}" has run out',
            hint="run the statement again, or write fewer rows at once",
        )


class UnknownTimeline(ReclockError):
    """The oracle has not opened this timeline."""

    sqlstate = "55000"

    def __init__(self, timeline: str) -> None:
        super().__init__(f'unknown timeline "{timeline}"', hint='run "reclock init"')
        self.timeline = timeline


class TimelineBelowFloor(ConfigurationError):
    """Consensus holds an older state of a timeline than the catalog remembers: it was put back in time."""

    sqlstate = "58030"

    def __init__(self, timeline: str, *, floor: int, found: int) -> None:
        super().__init__(
            f'timeline "{timeline}" stands at {found}, below its floor {floor}',
            detail="the consensus database is older than the catalog: its frontiers and claims are out of date too",
            hint="restore the newest consensus database, or an empty one to rebuild it from the catalog and the lake",
        )
        self.timeline, self.floor, self.found = timeline, floor, found


# --- catalog ---


class CatalogError(ReclockError):
    """The durable catalog cannot do what was asked."""

    sqlstate = "58000"


class CatalogUninitialized(CatalogError):
    """The catalog has never been opened for writing."""

    def __init__(self) -> None:
        super().__init__("the catalog is not initialized", hint='run "reclock init"')


class CatalogReadOnly(CatalogError):
    """A write was asked of a catalog that was opened read-only."""

    sqlstate = "25006"

    def __init__(self) -> None:
        super().__init__("the catalog is open read-only")


class CatalogSealed(CatalogError):
    """The catalog is being converted to another implementation; until that is done or given up, nobody joins it."""

    sqlstate = "55006"

    def __init__(self) -> None:
        super().__init__(
            "the catalog is sealed: it is being converted",
            hint='wait; if the conversion died, run "reclock catalog convert" again, or "reclock init" to go on without it',
        )


class CatalogVersionUnsupported(CatalogError):
    """The catalog was written by a newer version, or there is no way from its version to ours."""

    def __init__(self, *, found: int, supported: int) -> None:
        super().__init__(
            f"the catalog has version {found}, this program supports up to {supported}",
            hint="use a newer release of reclock" if found > supported else "the catalog must be migrated first",
        )
        self.found, self.supported = found, supported


class MigrationFailed(CatalogError):
    """A catalog migration did not succeed; nothing of it was kept."""

    def __init__(self, version: int, *, detail: str) -> None:
        super().__init__(f"catalog migration to version {version} failed", detail=detail)
        self.version = version


class CatalogCorrupt(CatalogError):
    """The stored catalog holds what no release of Reclock wrote. Names the kind and key of the object, and what is wrong."""

    sqlstate = "XX001"

    def __init__(self, kind: str, key: str, *, detail: str) -> None:
        super().__init__(f'catalog object {kind} "{key}" is corrupt', detail=detail)
        self.kind, self.key = kind, key


class EditRefused(CatalogError):
    """An edit of the catalog by hand is not made: what it stores is no object, is protected, or would break the catalog."""

    sqlstate = "22023"

    def __init__(self, kind: str, key: str, *, is_removal: bool, detail: str | None) -> None:
        super().__init__(f'catalog object {kind} "{key}" cannot be {"deleted" if is_removal else "stored"}', detail=detail)
        self.kind, self.key = kind, key


class CatalogImplementationsDiffer(CatalogError):
    """Two implementations of the catalog gave different answers to one call, where nobody had written in between."""

    sqlstate = "XX001"

    def __init__(self, call: str, *, primary: str, secondary: str) -> None:
        super().__init__(
            f'the implementations of the catalog differ in "{call}"', detail=f"primary: {primary}; secondary: {secondary}"
        )
        self.call, self.primary, self.secondary = call, primary, secondary


class DuplicateObject(ReclockError):
    """Something of that name is there already."""

    sqlstate = "42710"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'{kind} "{name}" already exists')
        self.kind, self.name = kind, name


class UnknownObject(ReclockError):
    """Nothing of that kind has that name."""

    sqlstate = "42704"

    def __init__(self, kind: str, name: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(f'unknown {kind} "{name}"', detail=detail, hint=hint)
        self.kind, self.name = kind, name


class DependentObjects(ReclockError):
    """A drop without CASCADE would leave others without what they are made of."""

    sqlstate = "2BP01"

    def __init__(self, kind: str, name: str, dependents: list[str]) -> None:
        super().__init__(
            f'cannot drop {kind} "{name}" because other objects depend on it',
            detail="; ".join(f'"{dependent}" depends on it' for dependent in dependents),
            hint="use DROP ... CASCADE to drop the dependent objects too",
        )
        self.kind, self.name, self.dependents = kind, name, dependents


# --- SQL ---


class SqlSyntaxError(ReclockError):
    """The text is not a statement. ``position`` counts characters from 1."""

    sqlstate = "42601"

    def __init__(self, message: str, *, position: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.position = position


class UnsupportedSql(ReclockError):
    """The statement is SQL, but Reclock does not do it."""

    sqlstate = "0A000"


class ExperimentalFeature(ReclockError):
    """The statement is there in experimental mode only, and the environment is not in it."""

    sqlstate = "0A000"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} requires experimental mode", hint="the setting experimental_mode turns it on")
        self.what = what


class UnknownRelation(ReclockError):
    """No relation of that name is in the catalog."""

    sqlstate = "42P01"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__(f'unknown relation "{name}"', hint=hint)
        self.name = name


class UnknownColumn(ReclockError):
    """No column of that name is in reach."""

    sqlstate = "42703"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__(f'column "{name}" does not exist', hint=hint)
        self.name = name


class AmbiguousColumn(ReclockError):
    """Several columns in reach have that name."""

    sqlstate = "42702"

    def __init__(self, name: str) -> None:
        super().__init__(f'column reference "{name}" is ambiguous', hint="put the relation's name in front")
        self.name = name


class UnknownFunction(ReclockError):
    """No function of that name takes arguments of these types."""

    sqlstate = "42883"

    def __init__(self, name: str, argument_types: list[str], *, hint: str | None = None) -> None:
        super().__init__(
            f"function {name}({', '.join(argument_types)}) does not exist",
            hint=hint or "no function matches the given name and argument types; you might need to add explicit casts",
        )
        self.name, self.argument_types = name, argument_types


class UnknownOperator(UnknownFunction):
    """No operator of that name takes operands of these types."""

    def __init__(self, name: str, argument_types: list[str]) -> None:
        super().__init__(name, argument_types)
        operands = f" {name} ".join(argument_types) if len(argument_types) > 1 else f"{name} {argument_types[0]}"
        self.args = (f"operator does not exist: {operands}",)
        self.message = self.args[0]
        self.hint = "no operator matches the given name and argument types; you might need to add explicit casts"


class TypeMismatch(ReclockError):
    """An expression has a type that does not fit its place."""

    sqlstate = "42804"


class InvalidText(ReclockError):
    """A constant in a statement does not spell a value of its type."""

    sqlstate = "22P02"

    def __init__(self, type_name: str, text: str, *, hint: str | None = None) -> None:
        super().__init__(f'invalid input syntax for type {type_name}: "{text}"', hint=hint)
        self.type_name, self.text = type_name, text


class InvalidBinary(ReclockError):
    """A parameter in binary format is no value of its type."""

    sqlstate = "22P03"

    def __init__(self, type_name: str) -> None:
        super().__init__(f"incorrect binary data format for type {type_name}")
        self.type_name = type_name


class NumberOutOfRange(ReclockError):
    """A number in a statement is larger than its type can hold."""

    sqlstate = "22003"

    def __init__(self, number: str, type_name: str) -> None:
        super().__init__(f'value "{number}" is out of range for type {type_name}')
        self.number, self.type_name = number, type_name


class DuplicateColumn(ReclockError):
    """A relation would have two columns of one name."""

    sqlstate = "42701"

    def __init__(self, name: str) -> None:
        super().__init__(f'column "{name}" specified more than once', hint="give each column a name of its own with AS")
        self.name = name


class DuplicateAlias(ReclockError):
    """Two relations of one FROM have the same name."""

    sqlstate = "42712"

    def __init__(self, name: str) -> None:
        super().__init__(f'table name "{name}" specified more than once', hint="give one of them an alias with AS")
        self.name = name


class InvalidColumnReference(ReclockError):
    """An ORDER BY, GROUP BY or DISTINCT ON names a place in the select list that is not there, or is not allowed."""

    sqlstate = "42P10"


class ReservedName(ReclockError):
    """A name that Reclock keeps for itself."""

    sqlstate = "42939"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__(f'the name "{name}" is reserved', hint=hint)
        self.name = name


class WrongObjectType(ReclockError):
    """The object is there, but is of another kind than the statement is for."""

    sqlstate = "42809"

    def __init__(self, name: str, wanted: str, found: str) -> None:
        wanted_one, found_one = (f"an {kind}" if kind.startswith("index") else f"a {kind}" for kind in (wanted, found))
        super().__init__(f'"{name}" is not {wanted_one}', detail=f"it is {found_one}")
        self.name, self.wanted, self.found = name, wanted, found


class SystemObjectProtected(ReclockError):
    """System schemas and their relations cannot be changed by a statement."""

    sqlstate = "42501"

    def __init__(self, name: str) -> None:
        super().__init__(f'"{name}" is a system object and cannot be changed')
        self.name = name


class PermissionDenied(ReclockError):
    """The role of the session may not do that: it lacks a privilege, does not own the object, or is not a superuser."""

    sqlstate = "42501"


class InvalidGrant(ReclockError):
    """A GRANT that makes no sense: a privilege that objects of the type do not have, or roles that would contain each other."""

    sqlstate = "0LP01"


class InvalidAuthorization(ReclockError):
    """There is no role of that name to begin a session with, or it may not log in."""

    sqlstate = "28000"


class RoleHasDependents(ReclockError):
    """A role cannot be dropped while it owns something, or privileges name it."""

    sqlstate = "2BP01"

    def __init__(self, name: str, dependents: list[str]) -> None:
        super().__init__(
            f'role "{name}" cannot be dropped because some objects depend on it',
            detail="; ".join(dependents),
            hint="REASSIGN OWNED BY and DROP OWNED BY free a role of what depends on it",
        )
        self.name, self.dependents = name, dependents


class RoleInUse(ReclockError):
    """A session cannot drop its own role, or take from it what would lock everyone out."""

    sqlstate = "55006"


class AggregateNotAllowed(ReclockError):
    """An aggregate function stands where rows are not grouped yet, or in another aggregate."""

    sqlstate = "42803"


class GroupingError(ReclockError):
    """A column is neither grouped nor aggregated."""

    sqlstate = "42803"

    def __init__(self, column: str) -> None:
        super().__init__(f'column "{column}" must appear in the GROUP BY clause or be used in an aggregate function')
        self.column = column


class InvalidOption(ReclockError):
    """A statement's option or clause has a wrong name or value."""

    sqlstate = "22023"


class EvaluationError(ReclockError):
    """A query failed on a value of the data: division by zero, a cast out of range. Its SQLSTATE is PostgreSQL's, of class 22."""

    sqlstate = "22000"

    def __init__(self, message: str, *, sqlstate: str | None = None, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, detail=detail, hint=hint)
        if sqlstate is not None:
            self.sqlstate = sqlstate


class OutOfMemory(ReclockError):
    """A query needs more memory, or more room to spill, than its engine may take."""

    sqlstate = "53200"

    def __init__(self, *, detail: str | None = None) -> None:
        hint = "select fewer rows, or lower spark_threshold_bytes to run it on Spark"
        super().__init__("out of memory", detail=detail, hint=hint)


class QueryCanceled(ReclockError):
    """A query was stopped while it ran, because somebody asked for that."""

    sqlstate = "57014"

    def __init__(self) -> None:
        super().__init__("canceling statement due to user request")


# --- replicas ---


class ReplicaLost(ReclockError):
    """A replica died or hangs while it was at work. Another one, or its next incarnation, can be asked again."""

    sqlstate = "40001"

    def __init__(self, name: str, *, detail: str | None = None) -> None:
        super().__init__(f'lost the replica "{name}"', detail=detail, hint="run the statement again")
        self.name = name


class ReplicaBehind(ReclockError):
    """A replica was asked for something at a time of the catalog up to which it was not commanded yet. Clients do not see this."""

    sqlstate = "55000"

    def __init__(self, *, wanted: int, found: int) -> None:
        super().__init__("the replica is behind the catalog", detail=f"it was commanded up to {found}, {wanted} is wanted")
        self.wanted, self.found = wanted, found


class ReplicaSuperseded(ReclockError):
    """A process is no longer the replica that it was: there is a newer incarnation, or it is not wanted any more. It ends."""

    sqlstate = "57P03"

    def __init__(self, replica_id: int, incarnation: int) -> None:
        super().__init__(f"incarnation {incarnation} of replica {replica_id} is not wanted any more")
        self.replica_id, self.incarnation = replica_id, incarnation


# --- the SQL port ---


class ProtocolViolation(ReclockError):
    """A client sent what the protocol does not allow, or not there."""

    sqlstate = "08P01"

    def __init__(self, message: str, *, sqlstate: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        if sqlstate is not None:
            self.sqlstate = sqlstate


class AuthenticationFailed(ReclockError):
    """The user is not known, may not log in, or did not prove to know the password: which of them is not said."""

    sqlstate = "28P01"

    def __init__(self, user: str) -> None:
        super().__init__(f'password authentication failed for user "{user}"')
        self.user = user


class ConnectionRefused(ReclockError):
    """A connection cannot be taken, whoever asks for it: the database is unknown, or encryption is wanted."""

    sqlstate = "08004"

    def __init__(self, message: str, *, sqlstate: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        if sqlstate is not None:
            self.sqlstate = sqlstate


class TooManyConnections(ReclockError):
    """The server has as many connections as it may have."""

    sqlstate = "53300"

    def __init__(self, limit: int) -> None:
        super().__init__("too many clients already", hint=f"max_connections is {limit}")
        self.limit = limit


class ServerStopping(ReclockError):
    """The server is being stopped; the connection ends."""

    sqlstate = "57P01"

    def __init__(self) -> None:
        super().__init__("terminating connection because the server is stopping")


class UnsafeListener(ConfigurationError):
    """The server would be reachable from other machines without passwords or without encryption."""

    def __init__(self, host: str, *, detail: str) -> None:
        super().__init__(
            f'refusing to listen on "{host}"',
            detail=detail,
            hint="listen on 127.0.0.1, or give every role that may log in a password and set tls_certificate and tls_key",
        )
        self.host = host


# --- prepared statements and cursors ---


class UnknownParameter(ReclockError):
    """A statement has no parameter of that number, or is of a kind that has none."""

    sqlstate = "42P02"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no parameter {name}")
        self.name = name


class IndeterminateType(ReclockError):
    """Nothing in the statement says of which type a parameter is."""

    sqlstate = "42P18"

    def __init__(self, number: int) -> None:
        super().__init__(f"could not determine data type of parameter ${number}", hint="write a cast, such as $1::text")
        self.number = number


class WrongNumberOfParameters(ReclockError):
    """A prepared statement was executed with more or fewer values than it has parameters."""

    sqlstate = "08P01"

    def __init__(self, name: str, *, given: int, wanted: int) -> None:
        super().__init__(f'prepared statement "{name}" requires {wanted} parameters, but {given} were supplied')
        self.name, self.given, self.wanted = name, given, wanted


class NoTransaction(ReclockError):
    """The statement is for transaction blocks, and none is open."""

    sqlstate = "25P01"

    def __init__(self, statement: str, hint: str = "BEGIN, or declare the cursor WITH HOLD") -> None:
        super().__init__(f"{statement} can only be used in transaction blocks", hint=hint)
        self.statement = statement


class UnknownPrepared(ReclockError):
    """No prepared statement of that name is in the session."""

    sqlstate = "26000"

    def __init__(self, name: str) -> None:
        super().__init__(f'prepared statement "{name}" does not exist')
        self.name = name


class DuplicatePrepared(ReclockError):
    """A prepared statement of that name is in the session already."""

    sqlstate = "42P05"

    def __init__(self, name: str) -> None:
        super().__init__(f'prepared statement "{name}" already exists')
        self.name = name


class UnknownCursor(ReclockError):
    """No cursor or portal of that name is open in the session."""

    sqlstate = "34000"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'{kind} "{name}" does not exist')
        self.kind, self.name = kind, name


class DuplicateCursor(ReclockError):
    """A cursor or portal of that name is open already."""

    sqlstate = "42P03"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'{kind} "{name}" already exists')
        self.kind, self.name = kind, name


# --- transactions and tables ---


class UnknownSavepoint(ReclockError):
    """The transaction block has no savepoint of that name."""

    sqlstate = "3B001"

    def __init__(self, name: str) -> None:
        super().__init__(f'savepoint "{name}" does not exist')


class TransactionFailed(ReclockError):
    """A statement of the block went wrong before; nothing but its end is executed."""

    sqlstate = "25P02"

    def __init__(self) -> None:
        super().__init__("current transaction is aborted, commands ignored until end of transaction block")


class TransactionActive(ReclockError):
    """The statement cannot be executed in a transaction block, or not in one with other statements."""

    sqlstate = "25001"

    def __init__(self, statement: str) -> None:
        super().__init__(
            f"{statement} must be the only statement of its transaction block", hint="COMMIT or ROLLBACK the others first"
        )
        self.statement = statement


class MixedTransaction(ReclockError):
    """A transaction block defines objects and writes to a table that it did not make."""

    sqlstate = "25001"

    def __init__(self) -> None:
        super().__init__(
            "a transaction that defines objects can write only to tables that it makes",
            hint="define and write in two transactions",
        )


class TransactionReadOnly(ReclockError):
    """A write in a transaction that was begun READ ONLY."""

    sqlstate = "25006"

    def __init__(self, statement: str) -> None:
        super().__init__(f"cannot execute {statement} in a read-only transaction")


class OutsideTransaction(ReclockError):
    """A block reads at one time, from the schemas that its first query named; another object was not kept at that time."""

    sqlstate = "25000"

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            "a transaction can only read from the schemas of its first query",
            detail=f"outside of them: {', '.join(names)}",
            hint="read them in another transaction, or name them in the first query",
        )
        self.names = names


class TableChanged(ReclockError):
    """A table was dropped or defined anew between a transaction's statements and its commit."""

    sqlstate = "40001"

    def __init__(self, name: str) -> None:
        super().__init__(
            f'table "{name}" was dropped or changed before the transaction could commit', hint="run the transaction again"
        )
        self.name = name


class NotNullViolation(ReclockError):
    """A row has NULL where its table allows none."""

    sqlstate = "23502"

    def __init__(self, column: str, table: str, *, row: str) -> None:
        super().__init__(
            f'null value in column "{column}" of relation "{table}" violates not-null constraint',
            detail=f"failing row contains ({row})",
        )
        self.column, self.table = column, table


class BadCopyData(ReclockError):
    """Data of COPY FROM that is not lines of the format and the columns asked for."""

    sqlstate = "22P04"

    def __init__(self, message: str, *, line: int, sqlstate: str | None = None) -> None:
        super().__init__(message, detail=f"line {line}")
        if sqlstate is not None:
            self.sqlstate = sqlstate
        self.line = line


class CopyAbandoned(ReclockError):
    """The client gave up a COPY FROM; nothing was written."""

    sqlstate = "57014"

    def __init__(self, reason: str) -> None:
        super().__init__(f"COPY from stdin failed: {reason}")


# --- sinks ---


class SinkError(ReclockError):
    """A sink stalls: nothing more is written to its target until the cause is gone."""

    sqlstate = "58030"


class TargetUnavailable(SinkError):
    """The target of a sink cannot be reached, or does not answer in time."""

    sqlstate = "08001"


class TargetChanged(SinkError):
    """The target of a sink is not as the sink left it: it is gone, was made anew, or somebody else wrote there."""

    sqlstate = "58P02"

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        super().__init__(message, detail=detail, hint="restore the target; or drop the sink and create it for a new one")


class SinkKeyNotUnique(SinkError):
    """Two rows with the key of one message came at one time."""

    sqlstate = "23505"

    def __init__(self, key: tuple[str, ...], *, at: int, detail: str | None = None) -> None:
        super().__init__(
            f"several rows agree in ({', '.join(key)}) at {at}",
            detail=detail,
            hint="create the sink with a KEY that tells the rows apart",
        )
        self.key, self.at = key, at


# --- sources and ingestion ---


class SourceError(ReclockError):
    """A source stalls: nothing of it is published until the cause is gone or a decision is made."""

    sqlstate = "58030"


class UpstreamUnavailable(SourceError):
    """The upstream cannot be reached, or a part of it that should be there is missing."""

    sqlstate = "08001"


class SecretUnavailable(SourceError):
    """The value of a secret cannot be had: it, or the key it was encrypted with, is missing."""

    sqlstate = "58000"

    def __init__(self, name: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(f'the value of secret "{name}" cannot be had', detail=detail, hint=hint)
        self.name = name


class UpstreamChanged(SourceError):
    """What was read before reads differently now: an object shrank, changed under its bytes, or is gone."""

    sqlstate = "58P02"

    def __init__(self, partition: str, offset: int, *, message: str, detail: str | None = None) -> None:
        super().__init__(
            message,
            detail=detail,
            hint="restore the upstream and ALTER SOURCE … RETRY, or give the range up with ALTER SOURCE … SKIP",
        )
        self.partition, self.offset = partition, offset


class BackfillRefused(ReclockError):
    """An interval cannot be given to a source: it has no history, or not there, or what is published would change."""

    sqlstate = "55000"

    def __init__(self, source: str, reason: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(f'source "{source}" cannot be backfilled: {reason}', detail=detail, hint=hint)
        self.source = source


class DecodeFailed(SourceError):
    """A record is not of the declared format. Names the partition and the offset of the record, which counts in ``unit``."""

    sqlstate = "22P02"

    def __init__(self, partition: str, offset: int, *, detail: str, unit: str = "byte") -> None:
        correct = "correct the object, keeping its length, and ALTER SOURCE … RETRY; or " if unit == "byte" else ""
        super().__init__(
            f'record at {unit} {offset} of "{partition}" does not decode',
            detail=detail,
            hint=f"{correct}give the record up with ALTER SOURCE … SKIP",
        )
        self.partition, self.offset, self.unit = partition, offset, unit


class AuditFailed(SourceError):
    """A check over the bindings or the staged rows failed; they are not committed."""

    sqlstate = "23514"

    def __init__(self, source: str, checks: list[str], *, detail: str | None = None) -> None:
        super().__init__(
            f'audit of source "{source}" failed: {", ".join(checks)}',
            detail=detail,
            hint="correct the upstream and ALTER SOURCE … RETRY, or accept with ALTER SOURCE … WAIVE '<check>'",
        )
        self.source, self.checks = source, checks

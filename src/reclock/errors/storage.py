"""Errors of consensus, collections and the oracle."""

from __future__ import annotations

from reclock.errors.root import ConfigurationError, ReclockError


class UpperMismatch(ReclockError):
    """A conditional write found another upper than it expected. Read again, decide again."""

    sqlstate = "40001"

    def __init__(self, name: str, *, expected: int, found: int | None) -> None:
        super().__init__(f'upper of "{name}" is {found}, expected {expected}')
        self.name, self.expected, self.found = name, expected, found


class ClaimConflict(ReclockError):
    """A frontier group is claimed by another writer, or the claim this writer held is no longer its
    own."""

    sqlstate = "40001"

    def __init__(
        self,
        group: str,
        *,
        detail: str | None = None,
        owner: str | None = None,
        lease_until: int | None = None,
    ) -> None:
        super().__init__(f'frontier group "{group}" is claimed by another writer', detail=detail)
        self.group, self.owner, self.lease_until = group, owner, lease_until


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
    """A read at a time outside ``[since, upper)``."""

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


class NotBegun(ReclockError):
    """A relation joined its frontier group later, and the rows it must begin with are not bound
    yet."""

    sqlstate = "55000"

    def __init__(self, name: str) -> None:
        super().__init__(
            f'"{name}" cannot be read yet',
            detail=(
                "it still lacks its part of the transactions that were bound before it was created"
            ),
            hint="it begins with the first tick that finds all of them upstream",
        )


class ErrorAtTime(ReclockError):
    """A relation has no rows at a time: the query of a maintained view raised an error there, or a
    source's table had failed. The SQLSTATE is that of the error."""

    def __init__(
        self, message: str, *, sqlstate: str, detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.sqlstate = sqlstate


class UnknownCollection(ReclockError):
    """A collection does not exist, or no longer, in the lake or in consensus."""

    sqlstate = "42P01"

    def __init__(self, name: str) -> None:
        super().__init__(f'unknown collection "{name}"')
        self.name = name


class DroppedMeanwhile(ReclockError):
    """An object that a statement reads or writes was dropped after the statement was planned."""

    sqlstate = "42P01"

    def __init__(self, name: str) -> None:
        super().__init__(f'"{name}" was dropped while the statement ran')
        self.name = name


class ClusterDropped(ReclockError):
    """The cluster that a query ran on was dropped before it was answered."""

    sqlstate = "42704"

    def __init__(self, name: str) -> None:
        super().__init__(
            f'query could not complete because cluster "{name}" was dropped',
            hint="SET cluster to another one",
        )
        self.name = name


class VersionGone(ReclockError):
    """The files of a version that is being read were deleted after a compaction. Pin the newest
    version and read again."""

    sqlstate = "40001"

    def __init__(self, name: str, *, version: int) -> None:
        super().__init__(
            f'version {version} of "{name}" is gone',
            detail="its files were replaced by a compaction, then deleted",
            hint="read again",
        )
        self.name, self.version = name, version


class CollectionExists(ReclockError):
    """A collection of this id exists already, with another schema."""

    sqlstate = "42P07"

    def __init__(self, name: str) -> None:
        super().__init__(f'collection "{name}" already exists')
        self.name = name


class ForeignCollection(ReclockError):
    """A store has a collection under this id, but of another incarnation: it belongs to an object
    that the catalog has lost. It is not read, written or dropped for the new object of that id."""

    sqlstate = "XX001"

    def __init__(self, name: str, *, store: str, expected: str, found: str) -> None:
        super().__init__(
            f'{store} has another object\'s collection under "{name}"',
            detail=f'it is of incarnation "{found}", the catalog says "{expected}"',
            hint=(
                "a store was put back in time: restore both from one backup, or drop the "
                "object and create it again"
            ),
        )
        self.name, self.store, self.expected, self.found = name, store, expected, found

    def named(self, name: str) -> ForeignCollection:
        """The same error with the object's name in place of its id."""
        return ForeignCollection(name, store=self.store, expected=self.expected, found=self.found)


class CollectionDamaged(ReclockError):
    """A collection is in the lake, but its Delta table cannot be read."""

    sqlstate = "XX001"

    def __init__(self, name: str, *, detail: str) -> None:
        super().__init__(
            f'collection "{name}" is damaged',
            detail=detail,
            hint="put its files back, restore both stores from a backup, or drop it",
        )
        self.name = name

    def named(self, name: str) -> CollectionDamaged:
        """The same error with the object's name in place of its id."""
        return CollectionDamaged(name, detail=self.detail or "")


class CollectionUnready(ReclockError):
    """The collection of an object could not be created. Storage tries again; other objects are not
    affected."""

    sqlstate = "55000"

    def __init__(self, name: str, *, error: str, hint: str | None = None) -> None:
        super().__init__(
            f'"{name}" cannot be read or written: its collection could not be created',
            detail=error,
            hint=hint,
        )
        self.name = name


class InvalidSchema(ReclockError):
    """A relation has columns that the lake cannot store: reserved or repeated names, or a type that
    is never stored."""

    sqlstate = "42P16"


class SinceHeld(ReclockError):
    """``since`` cannot move: a reader, an index or a sink still needs earlier times."""

    sqlstate = "55006"

    def __init__(self, group: str, *, wanted: int, held: int) -> None:
        super().__init__(
            f'since of "{group}" cannot move to {wanted}', detail=f"a read hold keeps it at {held}"
        )
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

    def __init__(
        self, timeout_ms: int, *, detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(
            f"canceling statement due to statement timeout ({timeout_ms} ms)",
            detail=detail,
            hint=hint,
        )
        self.timeout_ms = timeout_ms


class InputStalled(ReclockError):
    """A read needs what a source has not published, because it is stalled by the error that this
    one repeats."""

    sqlstate = "55000"

    def __init__(
        self, name: str, error: str, *, detail: str | None, hint: str | None, behind: str
    ) -> None:
        way_out = hint and hint.replace("ALTER SOURCE …", f"ALTER SOURCE {name}")
        super().__init__(
            f'"{name}" is stalled: {error}',
            detail="; ".join(part for part in (detail, behind) if part),
            hint="; ".join(
                part
                for part in (way_out, "SET stalled_reads = 'last_complete' reads what is there")
                if part
            ),
        )
        self.name = name


class ConsensusUnavailable(ReclockError):
    """The consensus database cannot be reached, or stayed locked for too long. Nothing was
    written."""

    sqlstate = "08006"

    def __init__(
        self,
        message: str = "the consensus database is not available",
        *,
        detail: str | None = None,
        hint: str = "check consensus_url and that the database is up",
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)


class ConsensusFull(ConsensusUnavailable):
    """The disk of the consensus database is full. Nothing was written."""

    sqlstate = "53100"

    def __init__(self, *, detail: str | None = None) -> None:
        hint = "free space on its disk; reads go on meanwhile"
        super().__init__("no space is left for the consensus database", detail=detail, hint=hint)


class ConsensusOutcomeUnknown(ReclockError):
    """The connection to consensus broke during a commit: it may have happened or not. Read before
    doing it again."""

    sqlstate = "08007"

    def __init__(self, *, detail: str | None = None) -> None:
        super().__init__(
            "the connection to the consensus database was lost during a commit", detail=detail
        )


class LeadershipUnknown(Fenced):
    """Consensus has no epoch: it is a new database, or not the one that this process started
    with."""

    def __init__(self, *, own: tuple[int, int]) -> None:
        super().__init__(own=own, found=(0, 0))
        self.args = (message := "fenced: consensus knows of no epoch",)
        self.message = message
        self.hint = "the consensus database is new or was replaced; start the process again"


class TermOver(ReclockError):
    """Another process leads the controller now. Its former leader stops; clients do not see
    this."""

    sqlstate = "40001"

    def __init__(self, controller: str, *, own: int) -> None:
        super().__init__(
            f"term {own} of the {controller} controller is over", detail="another process leads it"
        )


class ReportersGone(ReclockError):
    """Other processes report in those names now; the rows that this process still had are dropped.
    Clients do not see this."""

    sqlstate = "40001"

    def __init__(self, tokens: frozenset[str]) -> None:
        super().__init__(f"{len(tokens)} reporters of introspection were replaced")
        self.tokens = tokens


class UntargetedLogRead(ReclockError):
    """Each replica has its own log, and the session does not select a replica."""

    sqlstate = "0A000"

    def __init__(self, replicas: list[str]) -> None:
        super().__init__(
            "log source reads must target a replica",
            detail=f"replicas of the active cluster: {', '.join(replicas) or 'none'}",
            hint=(
                "SET cluster_replica = <name>, or read the relation whose name ends in "
                "_unified, which has those of all replicas"
            ),
        )


class NothingClaimed(ReclockError):
    """A decision was made about a claim, but the frontier group has none."""

    sqlstate = "55000"

    def __init__(self, group: str) -> None:
        super().__init__(
            f'nothing of "{group}" is stalled',
            hint="decisions are about a step that does not go on",
        )
        self.group = group


class ReadHoldLost(ReclockError):
    """A read hold ran out or was released; what it protected may be compacted. A new transaction
    reads at a later time."""

    sqlstate = "40001"

    def __init__(self, owner: str, *, at: int) -> None:
        super().__init__(
            f'read hold of "{owner}" at {at} is gone',
            detail=(
                "it ran out because the process did not renew it in time, and what it "
                "protected was compacted"
            ),
            hint="the transaction might succeed if retried",
        )
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
    """A write was planned on a catalog that has changed since. Plan it again, then commit it."""

    sqlstate = "40001"

    def __init__(self, *, planned: int, found: int) -> None:
        super().__init__(
            f"the catalog is at {found}, the statement was planned at {planned}",
            hint="plan it again",
        )
        self.planned, self.found = planned, found


class StagedRowsGone(ReclockError):
    """Rows that were staged for a commit were deleted, because the lease ended before the
    commit."""

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


class StoreRolledBack(ConfigurationError):
    """One of the two stores is older than the other remembers: it was lost, or restored to an
    earlier state. Nothing is opened."""

    sqlstate = "58030"

    def __init__(self, store: str, other: str, *, found: int, expected: int) -> None:
        lost = "it is empty" if not found else f"it is at {found}"
        super().__init__(
            f"{store} is older than {other}",
            detail=(
                f"{lost}, {other} knows it at {expected}: what was committed in between is missing"
            ),
            hint='put back its newest files; or bring both stores to one time with "reclock '
            'restore"; '
            'or go on without what is missing: "reclock init --accept-loss"',
        )
        self.store, self.found, self.expected = store, found, expected


class BackupFailed(ReclockError):
    """Files changed or were deleted before they were copied. The backup cannot be used."""

    sqlstate = "58030"

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="try again, and not while maintenance runs with a short vacuum_grace_ms"
        )


class TimelineBelowFloor(ConfigurationError):
    """Consensus holds an older state of a timeline than the catalog remembers: an old backup was
    restored."""

    sqlstate = "58030"

    def __init__(self, timeline: str, *, floor: int, found: int) -> None:
        super().__init__(
            f'timeline "{timeline}" stands at {found}, below its floor {floor}',
            detail=(
                "the consensus database is older than the catalog: its frontiers and claims "
                "are out of date too"
            ),
            hint=(
                "restore the newest consensus database, or an empty one to rebuild it from "
                "the catalog and the lake"
            ),
        )
        self.timeline, self.floor, self.found = timeline, floor, found


class ClockImplausible(ReclockError):
    """The clock is so far beyond the newest timestamp that it must be wrong. Nothing was
    written."""

    sqlstate = "58000"

    def __init__(self, *, now: int, newest: int, max_jump_ms: int) -> None:
        super().__init__(
            f"the clock is {(now - newest) // 86_400_000} days beyond the newest timestamp",
            detail=(
                f"the clock says {now}, the newest timestamp is {newest}; time that has "
                "moved forward never goes back"
            ),
            hint=(
                "correct the clock; if it is right, set RECLOCK_MAX_CLOCK_JUMP_MS above "
                f"{max_jump_ms} for one statement or tick"
            ),
        )
        self.now, self.newest, self.max_jump_ms = now, newest, max_jump_ms

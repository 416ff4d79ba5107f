"""Collections in the lake, and reads of them."""

from __future__ import annotations

from datetime import UTC, datetime

from reclock.errors.names import quoted_name
from reclock.errors.root import ReclockError

_LAST_MOMENT = 253_402_300_799_999
"""The end of the year 9999."""


def _as_moment(time: int) -> str:
    """What follows a time in milliseconds in a sentence, for people; empty if no calendar has it."""
    if time > _LAST_MOMENT:
        return ""
    return f", which is {datetime.fromtimestamp(time / 1000, UTC).isoformat(' ', 'milliseconds')}"


class UpperMismatch(ReclockError):
    """A conditional write found another upper than it expected. Read again, decide again."""

    sqlstate = "40001"

    def __init__(self, name: str, *, expected: int, found: int | None) -> None:
        super().__init__(f"upper of {quoted_name(name)} is {found}, expected {expected}")
        self.name, self.expected, self.found = name, expected, found


class NotReadable(ReclockError):
    """A read at a time outside ``[since, upper)``."""

    sqlstate = "22023"

    def __init__(
        self, name: str, *, at: int, since: int, upper: int, hint: str | None = None
    ) -> None:
        if hint is None and at < since:
            hint = f"the earliest time that can be read is {since}{_as_moment(since)}"
        super().__init__(
            f"{quoted_name(name)} cannot be read at {at}",
            detail=f"its since is {since}, its upper is {upper}",
            hint=hint or f"the collection is complete below {upper}",
        )
        self.name, self.at, self.since, self.upper = name, at, since, upper


class NotBackfilled(NotReadable):
    """A read of a source whose history is not read yet: no tick moves its upper before."""

    def __init__(self, name: str, *, at: int, since: int, upper: int) -> None:
        super().__init__(
            name,
            at=at,
            since=since,
            upper=upper,
            hint=f"its history is read up to {upper}{_as_moment(upper)}: run reclock backfill {name}",
        )


class NotBegun(ReclockError):
    """A relation joined its frontier group later, and the rows it must begin with are not bound
    yet."""

    sqlstate = "55000"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{quoted_name(name)} cannot be read yet",
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
        super().__init__(f"unknown collection {quoted_name(name)}")
        self.name = name


class DroppedMeanwhile(ReclockError):
    """An object that a statement reads or writes was dropped after the statement was planned."""

    sqlstate = "42P01"

    def __init__(self, name: str) -> None:
        super().__init__(f"{quoted_name(name)} was dropped while the statement ran")
        self.name = name


class RelationReplaced(ReclockError):
    """The relation of a Spark stream is another one than that whose changes the stream has read."""

    sqlstate = "55000"

    def __init__(self, name: str, *, expected: str, found: str) -> None:
        super().__init__(
            f"{name} is not the relation that the stream began with",
            detail=(
                f"the stream reads {expected}, and the name is that of {found} now: the relation was "
                "created again or replaced, or its columns were changed"
            ),
            hint="start the stream with a new checkpoint",
        )
        self.name, self.expected, self.found = name, expected, found


class ClusterDropped(ReclockError):
    """The cluster that a query ran on was dropped before it was answered."""

    sqlstate = "42704"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"query could not complete because cluster {quoted_name(name)} was dropped",
            hint="SET cluster to another one",
        )
        self.name = name


class VersionGone(ReclockError):
    """The files of a version that is being read were deleted after a compaction. Pin the newest
    version and read again."""

    sqlstate = "40001"

    def __init__(self, name: str, *, version: int) -> None:
        super().__init__(
            f"version {version} of {quoted_name(name)} is gone",
            detail="its files were replaced by a compaction, then deleted",
            hint="read again",
        )
        self.name, self.version = name, version


class CollectionExists(ReclockError):
    """A collection of this id exists already, with another schema."""

    sqlstate = "42P07"

    def __init__(self, name: str) -> None:
        super().__init__(f"collection {quoted_name(name)} already exists")
        self.name = name


class ForeignCollection(ReclockError):
    """A store has a collection under this id, but of another incarnation: it belongs to an object
    that the catalog has lost. It is not read, written or dropped for the new object of that id."""

    sqlstate = "XX001"

    def __init__(self, name: str, *, store: str, expected: str, found: str) -> None:
        super().__init__(
            f"{store} has another object's collection under {quoted_name(name)}",
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
            f"collection {quoted_name(name)} is damaged",
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
            f"{quoted_name(name)} cannot be read or written: its collection could not be created",
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

    def __init__(self, group: str, *, new_since: int, held_at: int) -> None:
        super().__init__(
            f"since of {quoted_name(group)} cannot move to {new_since}",
            detail=f"a read hold keeps it at {held_at}",
        )
        self.group, self.new_since, self.held_at = group, new_since, held_at


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
        super().__init__(
            f"{quoted_name(name)} is stalled: {error}",
            detail="; ".join(part for part in (detail, behind) if part),
            hint="; ".join(
                part
                for part in (hint, "SET stalled_reads = 'last_complete' reads what is there")
                if part
            ),
        )
        self.name = name


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


class BackupFailed(ReclockError):
    """Files changed or were deleted before they were copied. The backup cannot be used."""

    sqlstate = "58030"

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="try again, and not while maintenance runs with a short vacuum_grace_ms"
        )

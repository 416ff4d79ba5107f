"""The consensus database, leadership, and the decisions that consensus takes."""

from __future__ import annotations

from reclock.errors.names import quoted_name
from reclock.errors.root import ConfigurationError, ReclockError


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
        super().__init__(
            f"frontier group {quoted_name(group)} is claimed by another writer", detail=detail
        )
        self.group, self.owner, self.lease_until = group, owner, lease_until


class Fenced(ReclockError):
    """A newer epoch or deploy generation has taken over; this process may write no more."""

    sqlstate = "57P03"

    def __init__(self, *, writer: tuple[int, int], in_force: tuple[int, int]) -> None:
        super().__init__(
            f"fenced by a newer environment: epoch {in_force[0]}, deploy generation {in_force[1]}",
            detail=f"this process holds epoch {writer[0]}, deploy generation {writer[1]}",
            hint="start the process again to join the current epoch",
        )
        self.writer, self.in_force = writer, in_force


class ConsensusUnavailable(ReclockError):
    """The consensus database cannot be reached, read or written, or stayed locked for too long.
    Nothing was written."""

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

    def __init__(self, *, writer: tuple[int, int]) -> None:
        super().__init__(writer=writer, in_force=(0, 0))
        self.args = (message := "fenced: consensus knows of no epoch",)
        self.message = message
        self.hint = "the consensus database is new or was replaced; start the process again"


class TermOver(ReclockError):
    """Another process leads the controller now. Its former leader stops; clients do not see
    this."""

    sqlstate = "40001"

    def __init__(self, controller: str, *, term: int) -> None:
        super().__init__(
            f"term {term} of the {controller} controller is over", detail="another process leads it"
        )


class ReportersGone(ReclockError):
    """Other processes report in those names now; the rows that this process still had are dropped.
    Clients do not see this."""

    sqlstate = "40001"

    def __init__(self, tokens: frozenset[str]) -> None:
        super().__init__(f"{len(tokens)} reporters of introspection were replaced")
        self.tokens = tokens


class NothingClaimed(ReclockError):
    """A decision was made about a claim, but the frontier group has none."""

    sqlstate = "55000"

    def __init__(self, group: str) -> None:
        super().__init__(
            f"nothing of {quoted_name(group)} is stalled",
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
            detail=f"table {quoted_name(table)}, read at {read_at}, was written since",
            hint="the transaction might succeed if retried",
        )
        self.table, self.read_at = table, read_at


class CatalogMoved(ReclockError):
    """A write was planned on a catalog that has changed since. Plan it again, then commit it."""

    sqlstate = "40001"

    def __init__(self, *, planned: int, current: int) -> None:
        super().__init__(
            f"the catalog is at {current}, the statement was planned at {planned}",
            hint="plan it again",
        )
        self.planned, self.current = planned, current


class StagedRowsGone(ReclockError):
    """Rows that were staged for a commit were deleted, because the lease ended before the
    commit."""

    sqlstate = "57014"

    def __init__(self, name: str) -> None:
        super().__init__(
            "the rows of the statement were staged too long ago",
            detail=f"the lease of {quoted_name(name)} has run out",
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


class EnvironmentIsCopy(ConfigurationError):
    """The environment was restored from a backup beside the one that was backed up, and would take
    from it what upstreams and targets keep for one reader alone."""

    sqlstate = "55000"

    def __init__(self) -> None:
        super().__init__(
            "this environment is a copy, restored from a backup, and does not tick",
            detail=(
                "if the environment that was backed up still runs, ticks of its copy would move its "
                "replication slots, and write to the targets of its sinks"
            ),
            hint=(
                "the copy can be read as it is; if the other environment is gone for good, "
                '"reclock init --take-over" puts the copy in its place'
            ),
        )


class TimelineBelowFloor(ConfigurationError):
    """Consensus holds an older state of a timeline than the catalog remembers: an old backup was
    restored."""

    sqlstate = "58030"

    def __init__(self, timeline: str, *, floor: int, write_ts: int) -> None:
        super().__init__(
            f'timeline "{timeline}" stands at {write_ts}, below its floor {floor}',
            detail=(
                "the consensus database is older than the catalog: its frontiers and claims "
                "are out of date too"
            ),
            hint=(
                "restore the newest consensus database, or an empty one to rebuild it from "
                "the catalog and the lake"
            ),
        )
        self.timeline, self.floor, self.write_ts = timeline, floor, write_ts


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

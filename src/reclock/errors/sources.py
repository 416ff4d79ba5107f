"""Errors of sources and ingestion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from reclock.errors.names import quoted_name
from reclock.errors.root import ReclockError

_Error = TypeVar("_Error", bound=ReclockError)
_UNNAMED = "ALTER SOURCE …"
"""How hints begin a statement where the source's name is not known."""


def skip_statement(*ranges: tuple[str, int, int]) -> str:
    """The decision that gives up what has one of the offsets of these ranges, each of a partition,
    for a hint."""
    return f"{_UNNAMED} SKIP {skipped_parts(ranges)}"


def skipped_parts(ranges: Iterable[tuple[str, int, int]]) -> str:
    """The ranges as SKIP lists them, in order. A partition is named once for the ranges of it that
    follow each other, and adjacent ranges are one."""
    joined: list[tuple[str, int, int]] = []
    for partition, lower, upper in ranges:
        if joined and joined[-1][0] == partition and joined[-1][2] == lower:
            joined[-1] = (partition, joined[-1][1], upper)
        else:
            joined.append((partition, lower, upper))
    texts = []
    for partition, group in groupby(joined, key=lambda range: range[0]):
        parts = [f"FROM {lower} TO {upper}" for _, lower, upper in group]
        texts.append(f"{_quoted(partition)} {', '.join(parts)}")
    return ", ".join(texts)


def decision(verb: str, *partitions: str) -> str:
    """The decision about whole partitions, for a hint."""
    return f"{_UNNAMED} {verb} {', '.join(map(_quoted, partitions))}"


def _quoted(partition: str) -> str:
    return "'" + partition.replace("'", "''") + "'"


def hint_about(source: str, hint: str) -> str:
    """The hint with the source's name, as SQL writes it, in the statements that it proposes."""
    return hint.replace(_UNNAMED, f"ALTER SOURCE {source}")


def about_source(source: str, error: _Error) -> _Error:
    """``error``, whose hint proposes statements about this source from now on. ``source`` is its
    name as SQL writes it."""
    error.hint = error.hint and hint_about(source, error.hint)
    return error


class SourceError(ReclockError):
    """A source stalls: nothing of it is published until the cause is gone or a decision is made."""

    sqlstate = "58030"

    @property
    def causes(self) -> tuple[SourceError, ...]:
        """The errors that this one consists of: of several objects, one each."""
        return (self,)


class UpstreamUnavailable(SourceError):
    """The upstream cannot be reached, or a part of it is missing."""

    sqlstate = "08001"


class UpstreamBusy(SourceError):
    """The upstream cannot begin replication while some of its transactions are open. The source
    waits for them."""

    sqlstate = "55006"

    def __init__(self, slot: str, transactions: Sequence[str]) -> None:
        super().__init__(
            (
                f'replication slot "{slot}" cannot be made while transactions that began '
                "before are open upstream"
            ),
            detail="; ".join(transactions) or None,
            hint="the next tick tries again; end the transactions",
        )
        self.slot, self.transactions = slot, tuple(transactions)


class SecretUnavailable(SourceError):
    """A secret cannot be read: its value, or the key that encrypts it, is missing."""

    sqlstate = "58000"

    def __init__(self, name: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(
            f"the value of secret {quoted_name(name)} cannot be had", detail=detail, hint=hint
        )
        self.name = name


class UpstreamChanged(SourceError):
    """Data that was read before has changed, or data is gone that was not read: an object shrank,
    has other bytes, or expired. If it names a range that is lost, SKIP of that range goes on with
    the rest. RESTART reads the object ``restart`` again from its beginning, if it names one."""

    sqlstate = "58P02"

    def __init__(
        self,
        partition: str,
        offset: int,
        *,
        message: str,
        detail: str | None = None,
        hint: str | None = None,
        upper: int | None = None,
        restart: str | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint or self._usual_hint(partition))
        self.partition, self.offset, self.upper = partition, offset, upper
        self.restart = restart

    @staticmethod
    def _usual_hint(partition: str) -> str:
        return (
            "restore the upstream and ALTER SOURCE … RETRY, or give the range up with "
            f"{decision('SKIP', partition)}"
        )


class UnpublishedGone(UpstreamChanged):
    """Something that is claimed and not published was deleted upstream. The step goes on without
    it."""


class UpstreamLost(UpstreamChanged):
    """The data that a source would read next no longer exists. No decision about offsets brings it
    back: the source begins anew."""

    @staticmethod
    def _usual_hint(partition: str) -> str:
        return "DROP the source and create it again"


class UpstreamReplaced(UpstreamLost):
    """The upstream is another one of the same name, or lost what was read. RESNAPSHOT goes on with
    what is there now."""


class OutputFailed(SourceError):
    """One of several relations of a source failed at a time. It can be read only before that
    time."""

    sqlstate = "58P03"
    collection: str | None = None
    """The relation's collection, where a read of it raised the error."""

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        hint = (
            "the source's other relations go on; once the cause is mended upstream, "
            "ALTER SOURCE … RESNAPSHOT brings back this one; or another source reads the table as "
            "it is now: CREATE SOURCE … FOR TABLES (… AS …), with a column that does not fit in "
            "TEXT COLUMNS (…) or EXCLUDE COLUMNS (…)"
        )
        super().__init__(message, detail=detail, hint=hint)


class BackfillRefused(ReclockError):
    """An interval of a source cannot be backfilled: the source has no history, or not then, or
    published rows would change."""

    sqlstate = "55000"

    def __init__(
        self, source: str, reason: str, *, detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(
            f"source {quoted_name(source)} cannot be backfilled: {reason}", detail=detail, hint=hint
        )
        self.source = source


class AuditFailed(SourceError):
    """A check over the bindings or the staged rows failed; they are not committed."""

    sqlstate = "23514"

    def __init__(
        self,
        source: str,
        checks: list[str],
        *,
        detail: str | None = None,
        skips: Sequence[tuple[str, int, int]] = (),
    ) -> None:
        """``skips`` are offsets of rows that fail the checks."""
        rows = "the row" if len(skips) == 1 else f"{len(skips)} rows"
        give_up = (
            f", or give {rows} up with ALTER SOURCE {source} SKIP {skipped_parts(skips)}"
            if skips
            else ""
        )
        super().__init__(
            f"audit of source {quoted_name(source)} failed: {', '.join(checks)}",
            detail=detail,
            hint=(
                f"correct the upstream and ALTER SOURCE {source} RETRY, or accept with "
                + " and ".join(f"ALTER SOURCE {source} WAIVE '{check}'" for check in checks)
                + give_up
            ),
        )
        self.source, self.checks = source, checks

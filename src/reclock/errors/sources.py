"""Errors of sources and ingestion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from reclock.errors.names import quoted_name
from reclock.errors.root import ReclockError

_Error = TypeVar("_Error", bound=ReclockError)
_UNNAMED = "ALTER SOURCE …"
"""How hints begin a statement where the source's name is not known."""


def skip_statement(partition: str, lower: int, upper: int) -> str:
    """The decision that gives up what has one of these offsets, for a hint."""
    return f"{decision('SKIP', partition)} FROM {lower} TO {upper}"


def decision(verb: str, partition: str) -> str:
    """The decision about a whole partition, for a hint."""
    quoted = partition.replace("'", "''")
    return f"{_UNNAMED} {verb} '{quoted}'"


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
    the rest."""

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
    ) -> None:
        super().__init__(message, detail=detail, hint=hint or self._usual_hint(partition))
        self.partition, self.offset, self.upper = partition, offset, upper

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


class DecodeFailed(SourceError):
    """A record is not of the declared format. Names the partition and the offset of the record,
    which counts in ``unit``."""

    sqlstate = "22P02"

    def __init__(
        self,
        partition: str,
        offset: int,
        *,
        detail: str,
        unit: str = "byte",
        message: str | None = None,
        hint: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """``remedy`` is what a person can do so that the same record decodes. Objects can be
        corrected."""
        if remedy is None and unit in ("byte", "row"):
            remedy = "correct the object"
        retry = f"{remedy} and ALTER SOURCE … RETRY; or " if remedy is not None else ""
        skip = skip_statement(partition, offset, offset + 1)
        super().__init__(
            message or f'record at {unit} {offset} of "{partition}" does not decode',
            detail=detail,
            hint=hint or f"{retry}give the record up with {skip}",
        )
        self.partition, self.offset, self.unit = partition, offset, unit


class ObjectRejected(DecodeFailed):
    """An object cannot be read at all. It is given up as a whole, or replaced."""

    part: ClassVar[str]
    """What of the object is wrong."""


class HeaderMismatch(ObjectRejected):
    """The header of a CSV object does not have the columns of the source. Nothing of the object is
    read."""

    part = "the header"

    def __init__(self, partition: str, *, detail: str) -> None:
        super().__init__(
            partition,
            0,
            detail=detail,
            message=f'header of "{partition}" does not match the columns of the source',
            hint=(
                "correct the header and ALTER SOURCE … RETRY; or create the source with the "
                "columns of the header; or give the whole object up with "
                f"{decision('SKIP', partition)}"
            ),
        )


class SchemaMismatch(ObjectRejected):
    """A Parquet file does not have the columns of the source, or has them with other types. Nothing
    of the file is read."""

    part = "the schema"

    def __init__(self, partition: str, *, detail: str) -> None:
        super().__init__(
            partition,
            0,
            detail=detail,
            unit="row",
            message=f'schema of "{partition}" does not match the columns of the source',
            hint=(
                "replace the object and ALTER SOURCE … RETRY; or create the source with the "
                "columns of the object; or give the whole object up with "
                f"{decision('SKIP', partition)}"
            ),
        )


class ParquetUnreadable(ObjectRejected):
    """An object is no Parquet file, is cut off or damaged, or is written in a way that cannot be
    read. Nothing of it is read."""

    part = "the content"

    def __init__(self, partition: str, *, detail: str) -> None:
        super().__init__(
            partition,
            0,
            detail=detail,
            unit="row",
            message=f'object "{partition}" cannot be read as a Parquet file',
            hint=(
                "replace the object and ALTER SOURCE … RETRY; or give the whole object up with "
                f"{decision('SKIP', partition)}"
            ),
        )


class AuditFailed(SourceError):
    """A check over the bindings or the staged rows failed; they are not committed."""

    sqlstate = "23514"

    def __init__(self, source: str, checks: list[str], *, detail: str | None = None) -> None:
        super().__init__(
            f"audit of source {quoted_name(source)} failed: {', '.join(checks)}",
            detail=detail,
            hint=(
                f"correct the upstream and ALTER SOURCE {source} RETRY, or accept with "
                + " and ".join(f"ALTER SOURCE {source} WAIVE '{check}'" for check in checks)
            ),
        )
        self.source, self.checks = source, checks

"""Errors of records that do not decode, and of objects that cannot be read at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from reclock.errors.sources import SourceError, UpstreamChanged, decision, skip_statement

FOUND_RECORDS = 100
"""How many bad records or objects of a step one error has at most, which one SKIP gives up."""

_CORRECT_OBJECT = "correct the object"

SHOWN_RECORDS = 20
"""How many bad records or objects the text of an error names at most."""

_REASON = 200
"""The most characters of a reason where an error names several records."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that does not decode, at the offsets ``[lower, upper)`` of a partition, which count in
    ``unit``; or rows of a file that are damaged together.

    ``container`` is the partition in words. ``remedy`` is what a person can do so that the same
    record decodes.
    """

    partition: str
    lower: int
    upper: int
    reason: str
    unit: str
    container: str
    remedy: str | None = None

    @staticmethod
    def in_object(
        partition: str, lower: int, upper: int, reason: str, *, unit: str = "byte"
    ) -> BadRecord:
        """A record of an object, which a person can correct."""
        return BadRecord(partition, lower, upper, reason, unit, f'"{partition}"', _CORRECT_OBJECT)

    @property
    def place(self) -> str:
        """Where the record is, in words."""
        if self.unit == "row" and self.upper - self.lower > 1:
            return f"rows {self.lower} to {self.upper} of {self.container}"
        return f"{self.unit} {self.lower} of {self.container}"

    @property
    def skip(self) -> tuple[str, int, int]:
        """What gives the record up."""
        return self.partition, self.lower, self.upper


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
        upper: int | None = None,
        container: str | None = None,
        message: str | None = None,
        hint: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """``upper`` is the exclusive end of the record, ``container`` the partition in words, and
        ``remedy`` what a person can do so that the same record decodes. Objects can be
        corrected."""
        if remedy is None and unit in ("byte", "row"):
            remedy = _CORRECT_OBJECT
        record = BadRecord(
            partition,
            offset,
            offset + 1 if upper is None else upper,
            detail,
            unit,
            container or f'"{partition}"',
            remedy,
        )
        retry = f"{remedy} and ALTER SOURCE … RETRY; or " if remedy is not None else ""
        super().__init__(
            message or f"record at {record.place} does not decode",
            detail=detail,
            hint=hint or f"{retry}give the record up with {skip_statement(record.skip)}",
        )
        self.partition, self.offset, self.upper, self.unit = partition, offset, record.upper, unit
        self.records: tuple[BadRecord, ...] = (record,)
        self.count, self.is_complete = 1, True

    @staticmethod
    def of(records: Sequence[BadRecord], *, count: int, is_complete: bool) -> DecodeFailed:
        """The error about ``records``, in order of partition and offset: the first of ``count`` that
        are known. ``is_complete`` says whether there are no others."""
        if (count, is_complete) != (1, True):
            return RecordsRejected(records[:FOUND_RECORDS], count=count, is_complete=is_complete)
        [record] = records
        return DecodeFailed(
            record.partition,
            record.lower,
            detail=record.reason,
            unit=record.unit,
            upper=record.upper,
            container=record.container,
            remedy=record.remedy,
        )

    @staticmethod
    def merged(failures: Sequence[DecodeFailed], *, is_complete: bool = True) -> DecodeFailed:
        """One error about the records of all ``failures``. ``is_complete`` says whether everything
        was read that could have others."""
        is_complete = is_complete and all(failure.is_complete for failure in failures)
        if len(failures) == 1 and is_complete:
            return failures[0]
        records = sorted(
            (record for failure in failures for record in failure.records),
            key=lambda record: (record.partition, record.lower),
        )
        count = sum(failure.count for failure in failures)
        return DecodeFailed.of(records, count=count, is_complete=is_complete)


class RecordsRejected(DecodeFailed):
    """Several records of a step are not of the declared format. Names the first of them, and the
    statement that gives them up."""

    def __init__(self, records: Sequence[BadRecord], *, count: int, is_complete: bool) -> None:
        """``records`` are in order of partition and offset; ``count`` are known, and there may be
        others unless ``is_complete``."""
        first, lines = records[0], [_line(record) for record in records[:SHOWN_RECORDS]]
        if count > len(lines):
            lines.append(f"and {count - len(lines)} more")
        remedies = " and ".join(
            dict.fromkeys(record.remedy for record in records if record.remedy is not None)
        )
        if len({record.partition for record in records}) > 1:
            remedies = remedies.replace(_CORRECT_OBJECT, "correct the objects")
        retry = f"{remedies} and ALTER SOURCE … RETRY; or " if remedies else ""
        skip = skip_statement(*(record.skip for record in records))
        has_all = is_complete and count == len(records)
        what = "the records" if has_all else f"the first {len(records)} of them"
        super().__init__(
            first.partition,
            first.lower,
            detail="\n".join(lines),
            unit=first.unit,
            upper=first.upper,
            container=first.container,
            message=(
                f"{'' if is_complete else 'at least '}{count} records do not decode, "
                f"the first at {first.place}"
            ),
            hint=f"{retry}give {what} up with {skip}",
        )
        self.records = tuple(records)
        self.count, self.is_complete = count, is_complete


def _line(record: BadRecord) -> str:
    reason = record.reason
    cut = reason if len(reason) <= _REASON else f"{reason[:_REASON]}..."
    return f"{record.place}: {cut}"


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


class ObjectsUnreadable(SourceError):
    """Several objects of a step cannot be read, each for a reason of its own, such as a wrong header.
    Names all of them, and the statement that gives them up."""

    sqlstate = "22P02"

    def __init__(self, failures: Sequence[DecodeFailed | UpstreamChanged], *, count: int) -> None:
        """``failures`` are those of the first ``FOUND_RECORDS`` of ``count`` objects, in order of
        key."""
        lines: list[str] = []
        details: set[str | None] = {None}
        for failure in failures[:SHOWN_RECORDS]:
            is_known = failure.detail in details
            lines.append(failure.message if is_known else f"{failure.message}: {failure.detail}")
            details.add(failure.detail)
        if count > len(lines):
            lines.append(f"and {count - len(lines)} more")
        partitions = tuple(failure.partition for failure in failures)
        restarts = [
            failure.restart
            for failure in failures
            if isinstance(failure, UpstreamChanged) and failure.restart is not None
        ]
        restart = (
            f"; or read again from the beginning what changed with {decision('RESTART', *restarts)}"
            if restarts
            else ""
        )
        which = "them" if count == len(failures) else f"the first {len(failures)} of them"
        super().__init__(
            f'{count} objects cannot be read, the first is "{partitions[0]}"',
            detail="\n".join(lines),
            hint=(
                f"correct the objects and ALTER SOURCE … RETRY{restart}; "
                f"or give {which} up with {decision('SKIP', *partitions)}"
            ),
        )
        self.failures, self.count = tuple(failures), count
        self.partitions, self.restarts = partitions, tuple(restarts)

    @property
    def causes(self) -> tuple[SourceError, ...]:
        return self.failures

    @staticmethod
    def of(
        failures: Sequence[DecodeFailed | UpstreamChanged],
    ) -> DecodeFailed | UpstreamChanged | ObjectsUnreadable:
        """The error about objects that fail, in order of key: of one object, its own."""
        if len(failures) == 1:
            return failures[0]
        return ObjectsUnreadable(failures[:FOUND_RECORDS], count=len(failures))

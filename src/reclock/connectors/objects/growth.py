"""What is new in an object: ranges of offsets that can be read apart, with the evidence after them."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.connectors.objects.readings import ObjectEvidence
from reclock.errors import UnpublishedGone, UpstreamChanged, decision


@dataclass(frozen=True, slots=True)
class Split:
    """The offsets ``[lower, upper)`` of an object: whole records. ``crc_before`` and ``crc_after``
    are the crc32 of what is read of the object up to ``lower`` and up to ``upper``.

    The offsets are bytes. Those of a ``row_group`` of a Parquet file are rows, which take about
    ``row_bytes``; ``footer_crc32`` is the checksum of the file's footer.
    """

    lower: int
    upper: int
    crc_before: int
    crc_after: int
    row_group: int | None = None
    row_bytes: int = 0
    footer_crc32: int = 0

    @property
    def size_bytes(self) -> int:
        return self.upper - self.lower if self.row_group is None else self.row_bytes


@dataclass(frozen=True, slots=True)
class Growth:
    """The new offsets ``[lower, upper)`` of one object, cut into splits, and the evidence after
    them.

    ``header`` has the field names of its CSV records. The header record itself, which ends at
    ``header_end``, is bound but yields no row.
    """

    key: str
    lower: int
    upper: int
    evidence: ObjectEvidence
    splits: tuple[Split, ...] = ()
    header: tuple[str, ...] | None = None
    header_end: int = 0


@dataclass(frozen=True, slots=True)
class ObjectReadTask:
    """One split of one object, with what is needed to decode its records. Errors name the
    ``partition``."""

    key: str
    partition: str
    split: Split
    header: tuple[str, ...] | None
    header_end: int
    skips: tuple[tuple[int, int], ...]


def is_gone(bound: ObjectEvidence, counted: str) -> UpstreamChanged:
    """The error of an object that is no longer there. ``counted`` is what its offsets count."""
    return changed(bound, "is gone", f"its first {bound.length} {counted} are bound")


def changed(
    bound: ObjectEvidence, problem: str, detail: str, *, offset: int = 0
) -> UpstreamChanged:
    """The error of an object that is not as it was bound. ``problem`` completes a sentence about
    it, ``offset`` is the first one that is affected."""
    return UpstreamChanged(
        bound.partition,
        offset,
        message=f'object "{bound.key}" {problem}',
        detail=detail,
        hint=(
            "restore the object and ALTER SOURCE … RETRY, read it again from its beginning with "
            f"{decision('RESTART', bound.key)}, or give it up with "
            f"{decision('SKIP', bound.partition)}"
        ),
        restart=bound.key,
    )


def other_crc(bound: ObjectEvidence, crc: int) -> str:
    """The detail of a checksum that is not that of the evidence."""
    return f"their crc32 is {crc:08x}, it was {bound.crc32:08x} when they were bound"


def lost(task: ObjectReadTask, counted: str, detail: str | None) -> UnpublishedGone:
    """The error of a split that is claimed, and no longer there."""
    lower, upper = task.split.lower, task.split.upper
    return UnpublishedGone(
        task.partition,
        lower,
        message=f'object "{task.key}" no longer has the {counted} from {lower} to {upper}',
        detail=detail,
        hint=_not_published(counted),
    )


def check_crc(task: ObjectReadTask, counted: str, crc: int) -> None:
    """Raises ``UpstreamChanged`` unless what was read has the checksum with which it was bound."""
    if crc != task.split.crc_after:
        detail = "their crc32 is not the one they had when they were bound"
        raise changed_since_claimed(task, counted, detail)


def changed_since_claimed(task: ObjectReadTask, counted: str, detail: str) -> UpstreamChanged:
    """The error of a split that is claimed, and has become another one."""
    lower, upper = task.split.lower, task.split.upper
    return UpstreamChanged(
        task.partition,
        lower,
        message=f'object "{task.key}" changed under its {counted} from {lower} to {upper}',
        detail=detail,
        hint=_not_published(counted),
    )


def _not_published(counted: str) -> str:
    return (
        f"these {counted} are not published: ALTER SOURCE … RETRY reads the object as it is now, "
        f"SKIP gives the {counted} up"
    )

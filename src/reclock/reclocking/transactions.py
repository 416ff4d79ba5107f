"""Binding by transaction: a change stream in several partitions, and a log of transaction ends.

The log gives the order. A step binds the log's first transactions whose events have all arrived. It
binds each partition up to the first event of a later transaction. A writer that restarts repeats
events that it sent before, so an event counts once, by its number within its transaction. The
transaction topic of Debezium is such a log: its END entries count the events by collection.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, islice

from reclock.reclocking.frontiers import Partition

KNOWN_TRANSACTIONS = 10_000
"""How many of the last bound transactions are remembered, to recognize repeated events."""


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """A transaction that ends at ``offset`` of the log, with its number of events by collection."""

    id: str
    offset: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Event:
    """The event at ``offset``: number ``order`` of its transaction, or an event without one."""

    offset: int
    transaction: str | None = None
    order: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """All ``events`` of one partition of a ``collection`` below ``upper``, in order.

    ``skipped`` is how many of them a decision skipped: their transactions are unknown.
    """

    collection: str
    events: Sequence[Event]
    upper: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """What can be bound: the transactions ``bound``, and each partition up to its exclusive upper,
    without the ``dropped`` offsets."""

    bound: tuple[TransactionEnd, ...]
    uppers: Mapping[Partition, int]
    dropped: Mapping[Partition, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missing:
    """``count`` events of a ``transaction`` are missing. They ``are_gone`` for good if every
    partition in which they could arrive has events of later transactions. ``count`` is 0 if one of
    its events lies after an event of an unknown transaction."""

    transaction: str
    count: int
    are_gone: bool


def fresh(log: Sequence[TransactionEnd], known_ids: Collection[str]) -> list[TransactionEnd]:
    """The transactions of the log whose ids are not ``known_ids``, each at its first end."""
    transactions: dict[str, TransactionEnd] = {}
    for ended in log:
        if ended.id not in known_ids:
            transactions.setdefault(ended.id, ended)
    return list(transactions.values())


def cut(
    log: Sequence[TransactionEnd], known_ids: Collection[str], read: Mapping[Partition, Stretch]
) -> Cut:
    """The part of ``read`` that can be bound. ``log`` is the unbound part of the log, ``known_ids``
    are the ids of the transactions before it.

    Every transaction is bound whole and once, in the order of the log. A longer log and longer
    stretches never bind less.
    """
    repeated, counts = _find_repeated(known_ids, read)
    spare: dict[str, int] = {}
    for stretch in read.values():
        spare[stretch.collection] = spare.get(stretch.collection, 0) + stretch.skipped
    complete: list[TransactionEnd] = []
    for ended in fresh(log, known_ids):
        missing = {
            name: ended.counts.get(name, 0) - counts.get((ended.id, name), 0) for name in spare
        }
        if any(not 0 <= count <= spare[name] for name, count in missing.items()):
            break
        spare = {name: skipped - missing[name] for name, skipped in spare.items()}
        complete.append(ended)
    while True:
        bound = {ended.id for ended in complete} | set(known_ids)
        uppers = {partition: _upper(stretch, bound) for partition, stretch in read.items()}
        beyond = {
            event.transaction
            for partition, stretch in read.items()
            for event in stretch.events
            if event.offset >= uppers[partition] and event.offset not in repeated[partition]
        }
        torn = next((place for place, ended in enumerate(complete) if ended.id in beyond), None)
        if torn is None:
            break
        complete = complete[:torn]  # it has an event after one that cannot be bound
    dropped = {
        partition: tuple(sorted(offset for offset in offsets if offset < uppers[partition]))
        for partition, offsets in repeated.items()
    }
    return Cut(tuple(complete), uppers, dropped)


Reading = Callable[[Mapping[Partition, int], Set[str], Set[str]], Mapping[Partition, Stretch]]
"""Reads every partition from its given offset (else from its beginning) to the first event of a
transaction that is in neither set."""


def caught_up(parts: Iterable[Sequence[TransactionEnd]], read: Reading) -> Cut | Missing:
    """The events of new collections that belong to a log that is already bound for others; or the
    first that are missing. Once they are bound at one time, the new collections are as complete as
    the others from that time on.

    The log comes in ``parts``, in order, which are bound one after the other. ``read`` gets the
    transactions before a part, and the part's. So only one part is in memory at a time.
    """
    later_parts = iter(parts)
    known_ids: dict[str, None] = {}
    uppers: dict[Partition, int] = {}
    dropped: dict[Partition, tuple[int, ...]] = {}
    # a last, empty part binds repeated and transactionless events
    for part in chain(later_parts, [()]):
        complete = fresh(part, known_ids)
        stretches = read(uppers, known_ids.keys(), {ended.id for ended in complete})
        bindable = cut(complete, known_ids, stretches)
        if len(bindable.bound) < len(complete):
            return _missing(complete, len(bindable.bound), known_ids, stretches, later_parts)
        uppers.update(bindable.uppers)
        dropped |= {
            partition: dropped.get(partition, ()) + offsets
            for partition, offsets in bindable.dropped.items()
        }
        known_ids |= dict.fromkeys(ended.id for ended in complete)
        known_ids = dict.fromkeys(
            islice(known_ids, max(0, len(known_ids) - KNOWN_TRANSACTIONS), None)
        )
    return Cut((), uppers, dropped)


def _missing(
    complete: Sequence[TransactionEnd],
    place: int,
    known_ids: Collection[str],
    read: Mapping[Partition, Stretch],
    later_parts: Iterable[Sequence[TransactionEnd]],
) -> Missing:
    _, counts = _find_repeated(known_ids, read)
    ended = complete[place]
    missing = {
        s.collection: ended.counts.get(s.collection, 0) - counts.get((ended.id, s.collection), 0)
        for s in read.values()
    }
    waited_for = [stretch for stretch in read.values() if missing[stretch.collection] > 0]
    blocking = {stretch.events[-1].transaction for stretch in waited_for if stretch.events} - {
        *known_ids,
        *(transaction.id for transaction in complete),
    }
    later = {transaction.id for transaction in complete[place + 1 :]} | {
        transaction.id for part in later_parts for transaction in part if transaction.id in blocking
    }
    are_past = [
        any(event.transaction in later for event in stretch.events) for stretch in waited_for
    ]
    return Missing(
        ended.id,
        sum(count for count in missing.values() if count > 0),
        bool(are_past) and all(are_past),
    )


def _upper(stretch: Stretch, bound: Collection[str]) -> int:
    waiting = (
        event.offset
        for event in stretch.events
        if event.transaction is not None and event.transaction not in bound
    )
    return next(waiting, stretch.upper)


def _find_repeated(
    known_ids: Collection[str], read: Mapping[Partition, Stretch]
) -> tuple[dict[Partition, set[int]], dict[tuple[str, str], int]]:
    """The offsets of repeated events by partition, and the number of other events by transaction
    and collection."""
    repeated: dict[Partition, set[int]] = {partition: set() for partition in read}
    first_places: set[tuple[str, str, int]] = set()
    counts: dict[tuple[str, str], int] = {}
    for partition, stretch in read.items():
        for event in stretch.events:
            if event.transaction is None:
                continue
            place = (event.transaction, stretch.collection, event.order)
            if event.transaction in known_ids or place in first_places:
                repeated[partition].add(event.offset)
            else:
                first_places.add(place)
                counts[place[:2]] = counts.get(place[:2], 0) + 1
    return repeated, counts

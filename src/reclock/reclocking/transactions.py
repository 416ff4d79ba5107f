"""Binding by transaction: a change stream that comes in several partitions, beside a log of where its transactions end.

The log gives the order. What is bound are its first transactions of which everything is there; a partition is bound up to the first
event that belongs to a later one. Who writes the stream sends again, when it begins again, what it sent before; so an event counts
once, by the place in its transaction that it names. Debezium's transaction topic is such a log: its END says how many events of
each collection there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, islice

from reclock.reclocking.frontiers import Partition

KNOWN_TRANSACTIONS = 10_000
"""So many transactions before those that are bound are known, to tell what is sent twice."""


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """A transaction that ends at ``offset`` of the log, and how many events of each collection it has."""

    id: str
    offset: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Event:
    """What is at ``offset``: event number ``order`` of a transaction; without one it stands for itself."""

    offset: int
    transaction: str | None = None
    order: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was read of one partition of a ``collection``: all its ``events`` below ``upper``, in order.

    ``skipped`` is how many of them a decision gave up: nobody knows which transactions they belong to.
    """

    collection: str
    events: Sequence[Event]
    upper: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """What can be bound: the transactions ``bound``, and each partition up to its exclusive ``uppers``, not those ``dropped``."""

    bound: tuple[TransactionEnd, ...]
    uppers: Mapping[Partition, int]
    dropped: Mapping[Partition, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missing:
    """``count`` events of a ``transaction`` that are not there; ``are_gone`` if later ones are, everywhere they could come. It is
    none if an event of it lies behind one of a transaction that is not known."""

    transaction: str
    count: int
    are_gone: bool


def fresh(log: Sequence[TransactionEnd], known: Collection[str]) -> list[TransactionEnd]:
    """The transactions of the log that are not ``known``, each where it ended first."""
    transactions: dict[str, TransactionEnd] = {}
    for ended in log:
        if ended.id not in known:
            transactions.setdefault(ended.id, ended)
    return list(transactions.values())


def cut(log: Sequence[TransactionEnd], known: Collection[str], read: Mapping[Partition, Stretch]) -> Cut:
    """What of ``read`` can be bound, given the part of the log that is not bound yet, and what is ``known`` from before it.

    Every transaction is bound whole and once, in the order of the log; with more of everything to read, never less is bound.
    """
    repeated, seen = _told_apart(known, read)
    spare: dict[str, int] = {}
    for stretch in read.values():
        spare[stretch.collection] = spare.get(stretch.collection, 0) + stretch.skipped
    complete: list[TransactionEnd] = []
    for ended in fresh(log, known):
        missing = {name: ended.counts.get(name, 0) - seen.get((ended.id, name), 0) for name in spare}
        if any(not 0 <= count <= spare[name] for name, count in missing.items()):
            break
        spare = {name: left - missing[name] for name, left in spare.items()}
        complete.append(ended)
    while True:
        bound = {ended.id for ended in complete} | set(known)
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
        complete = complete[:torn]  # an event of it lies behind one that cannot be bound
    dropped = {
        partition: tuple(sorted(offset for offset in offsets if offset < uppers[partition]))
        for partition, offsets in repeated.items()
    }
    return Cut(tuple(complete), uppers, dropped)


Reading = Callable[[Mapping[Partition, int], Set[str], Set[str]], Mapping[Partition, Stretch]]
"""Answers every partition from an offset (from its beginning, if it is not named) to the first event of a transaction that is in
neither set."""


def caught_up(parts: Iterable[Sequence[TransactionEnd]], read: Reading) -> Cut | Missing:
    """What belongs to the log, which is bound for others, of collections that nothing is bound of yet; or the first of it that is
    not there. Bound at one time, it makes them as complete as the others, from that time on.

    The log comes in ``parts``, in order, and is bound a part after the other; ``read`` is told the transactions before a part, and
    those of it. So only a part of everything is in memory.
    """
    rest = iter(parts)
    known: dict[str, None] = {}
    uppers: dict[Partition, int] = {}
    dropped: dict[Partition, tuple[int, ...]] = {}
    for part in chain(rest, [()]):  # at last what belongs to no transaction, or is there again
        complete = fresh(part, known)
        stretches = read(uppers, known.keys(), {ended.id for ended in complete})
        found = cut(complete, known, stretches)
        if len(found.bound) < len(complete):
            return _missing(complete, len(found.bound), known, stretches, rest)
        uppers.update(found.uppers)
        dropped |= {partition: dropped.get(partition, ()) + offsets for partition, offsets in found.dropped.items()}
        known |= dict.fromkeys(ended.id for ended in complete)
        known = dict.fromkeys(islice(known, max(0, len(known) - KNOWN_TRANSACTIONS), None))
    return Cut((), uppers, dropped)


def _missing(
    complete: Sequence[TransactionEnd],
    place: int,
    known: Collection[str],
    read: Mapping[Partition, Stretch],
    rest: Iterable[Sequence[TransactionEnd]],
) -> Missing:
    _, seen = _told_apart(known, read)
    ended = complete[place]
    missing = {s.collection: ended.counts.get(s.collection, 0) - seen.get((ended.id, s.collection), 0) for s in read.values()}
    waited_for = [stretch for stretch in read.values() if missing[stretch.collection] > 0]
    unread = {stretch.events[-1].transaction for stretch in waited_for if stretch.events} - {
        *known,
        *(transaction.id for transaction in complete),
    }
    later = {transaction.id for transaction in complete[place + 1 :]} | {
        transaction.id for part in rest for transaction in part if transaction.id in unread
    }
    are_past = [any(event.transaction in later for event in stretch.events) for stretch in waited_for]
    return Missing(ended.id, sum(count for count in missing.values() if count > 0), bool(are_past) and all(are_past))


def _upper(stretch: Stretch, bound: Collection[str]) -> int:
    waiting = (event.offset for event in stretch.events if event.transaction is not None and event.transaction not in bound)
    return next(waiting, stretch.upper)


def _told_apart(
    known: Collection[str], read: Mapping[Partition, Stretch]
) -> tuple[dict[Partition, set[int]], dict[tuple[str, str], int]]:
    """Where events are that were there before; and how many others each transaction has, by collection."""
    repeated: dict[Partition, set[int]] = {partition: set() for partition in read}
    seen: set[tuple[str, str, int]] = set()
    counts: dict[tuple[str, str], int] = {}
    for partition, stretch in read.items():
        for event in stretch.events:
            if event.transaction is None:
                continue
            place = (event.transaction, stretch.collection, event.order)
            if event.transaction in known or place in seen:
                repeated[partition].add(event.offset)
            else:
                seen.add(place)
                counts[place[:2]] = counts.get(place[:2], 0) + 1
    return repeated, counts

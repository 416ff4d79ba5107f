"""The statements with which a person can resume a stalled source."""

from __future__ import annotations

from collections.abc import Iterable

from reclock.connectors.connector import Skip
from reclock.errors import (
    DecodeFailed,
    ObjectsUnreadable,
    ReclockError,
    UpstreamChanged,
    UpstreamLost,
    UpstreamReplaced,
    UpstreamUnavailable,
    skipped_parts,
)
from reclock.ingest.failures import decode_failure
from reclock.ingest.payload import Phase, Step
from reclock.introspection.overview import WayOut


def ways_out(source: str, step: Step) -> tuple[WayOut, ...]:
    """The decisions that the source's standing step leaves, the mildest first. ``source`` is its
    name as SQL writes it.

    None if nothing keeps the step from going on, or the next tick tries again by itself.
    """
    error = decode_failure(step.error) if step.error is not None else None
    if isinstance(error, UpstreamReplaced):
        follows = "The next tick reads what is upstream now."
        return (WayOut("RESNAPSHOT", f"ALTER SOURCE {source} RESNAPSHOT", follows),)
    if isinstance(error, UpstreamLost | UpstreamUnavailable):
        return ()
    if error is None and not step.blocking:
        return ()
    follows = (
        "The next tick reads the claimed ranges again. Choose it after you have corrected "
        "the upstream."
    )
    ways = [WayOut("RETRY", f"ALTER SOURCE {source} RETRY", follows)]
    if isinstance(error, DecodeFailed) and not any(record.remedy for record in error.records):
        ways = []  # such as messages, which never change
    for check in step.blocking:
        follows = (
            f"The step is published although the check {check} failed: its rows are in every "
            "later answer."
        )
        ways.append(
            WayOut(f"WAIVE {check}", f"ALTER SOURCE {source} WAIVE {_text(check)}", follows)
        )
    if error is None and (skips := step.violations):
        rows = "the row" if len(skips) == 1 else f"{len(skips)} rows"
        follows = "What is at these places is never read. The rest is read again, and its rows are checked."
        ways.append(WayOut(f"SKIP {rows}", _skip(source, *skips), follows))
    if isinstance(error, DecodeFailed):
        ways += _skip_records(source, step, error)
    elif isinstance(error, ObjectsUnreadable):
        if error.restarts:
            ways.append(_restart(source, *error.restarts))
        ways.append(_skip_partitions(source, *error.partitions))
    elif isinstance(error, UpstreamChanged):
        if error.restart is not None and step.phase is Phase.PROBING:
            ways.append(_restart(source, error.restart))
        ways.append(_skip_lost(source, step, error))
    return tuple(ways)


def resnapshot_of(source: str, subsource: str) -> WayOut:
    """Brings back a relation of the source that has failed alone. Both are names as SQL writes
    them."""
    follows = (
        f"The next tick copies the tables anew, also {subsource}. Choose it after you have "
        "corrected the upstream."
    )
    return WayOut("RESNAPSHOT", f"ALTER SOURCE {source} RESNAPSHOT", follows)


def _skip_records(source: str, step: Step, error: DecodeFailed) -> list[WayOut]:
    """Gives up the failing records alone, or everything from them to the end of the claimed ranges.
    A step that still probes has claimed none: it gives up the partition."""
    records = error.records
    firsts = {record.partition: record.lower for record in reversed(records)}
    rest = [
        (increment.name, firsts[increment.name], increment.upper)
        for increment in step.increments
        if increment.name in firsts
    ]
    if not rest:
        return [_skip_partitions(source, error.partition)]
    if len(records) == 1:
        name, verb = "SKIP the record", "is"
        record_label = f"The record at {error.unit} {error.offset} of {_named(error.partition)}"
    else:
        name, verb = f"SKIP {len(records)} records", "are"
        record_label = f"The {len(records)} records at these places"
    skips = [record.skip for record in records]
    way = WayOut(name, _skip(source, *skips), f"{record_label} {verb} never read. The others are.")
    if skipped_parts(skips) == skipped_parts(rest):
        return [way]
    return [way, _skip_rest(source, *rest)]


def _skip_lost(source: str, step: Step, error: UpstreamChanged) -> WayOut:
    """Gives up what is lost; if the error does not say how much that is, everything from its offset
    to the end of the claimed range."""
    if error.upper is not None:
        statement = _skip(source, (error.partition, error.offset, error.upper))
        follows = f"Nothing of {_named(error.partition)} below {error.upper} is read. The rest is."
        return WayOut("SKIP what is lost", statement, follows)
    upper = _claimed_upper(step, error.partition)
    if upper is None:
        return _skip_partitions(source, error.partition)
    return _skip_rest(source, (error.partition, error.offset, upper))


def _claimed_upper(step: Step, partition: str) -> int | None:
    """The end of the range that the step has claimed of the partition, if it has claimed one."""
    uppers = (increment.upper for increment in step.increments if increment.name == partition)
    return next(uppers, None)


def _skip_rest(source: str, *ranges: Skip) -> WayOut:
    if len(ranges) == 1:
        [(partition, lower, upper)] = ranges
        which = f"{_named(partition)} from {lower} to {upper}, the end of the claimed range,"
    else:
        which = f"these {len(ranges)} partitions from there to the ends of the claimed ranges"
    follows = f"Nothing of {which} is ever read."
    return WayOut("SKIP the rest", _skip(source, *ranges), follows)


def _skip_partitions(source: str, *partitions: str) -> WayOut:
    if len(partitions) == 1:
        name = _named(partitions[0])
        follows = f"Nothing more of {name} is read. Its published rows stay."
    else:
        name = f"{len(partitions)} objects"
        follows = f"Nothing more of these {name} is read. Their published rows stay."
    return WayOut(f"SKIP {name}", f"ALTER SOURCE {source} SKIP {_texts(partitions)}", follows)


def _restart(source: str, *keys: str) -> WayOut:
    name = keys[0] if len(keys) == 1 else f"{len(keys)} objects"
    follows = f"{name} {'is' if len(keys) == 1 else 'are'} read again from the beginning. The rows that were published before stay."
    return WayOut(f"RESTART {name}", f"ALTER SOURCE {source} RESTART {_texts(keys)}", follows)


def _skip(source: str, *ranges: Skip) -> str:
    return f"ALTER SOURCE {source} SKIP {skipped_parts(ranges)}"


def _named(partition: str) -> str:
    """Topics number their partitions, and a number alone says nothing."""
    return f"partition {partition}" if partition.isdecimal() else partition


def _texts(values: Iterable[str]) -> str:
    return ", ".join(map(_text, values))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def step_of(payload: object) -> Step | None:
    """The ingestion step of a claim, or None if it is of another kind or of another version."""
    try:
        return Step.from_payload(payload) if isinstance(payload, dict) else None
    except ReclockError:
        return None

"""The statements with which a person can resume a stalled source."""

from __future__ import annotations

from reclock.errors import (
    DecodeFailed,
    ReclockError,
    UpstreamChanged,
    UpstreamLost,
    UpstreamReplaced,
)
from reclock.ingest.failures import decode_failure
from reclock.ingest.payload import Step
from reclock.introspection.overview import WayOut


def ways_out(source: str, step: Step) -> tuple[WayOut, ...]:
    """The decisions that the source's standing step leaves, the mildest first. ``source`` is its
    name as SQL writes it.

    None if nothing keeps the step from going on.
    """
    error = decode_failure(step.error) if step.error is not None else None
    if isinstance(error, UpstreamReplaced):
        follows = "The next tick reads what is upstream now."
        return (WayOut("RESNAPSHOT", f"ALTER SOURCE {source} RESNAPSHOT", follows),)
    if isinstance(error, UpstreamLost) or (error is None and not step.blocking):
        return ()
    follows = (
        "The next tick reads the claimed ranges again. Choose it after you have corrected "
        "the upstream."
    )
    ways = [WayOut("RETRY", f"ALTER SOURCE {source} RETRY", follows)]
    for check in step.blocking:
        follows = (
            f"The step is published although the check {check} failed: its rows are in every "
            "later answer."
        )
        ways.append(
            WayOut(f"WAIVE {check}", f"ALTER SOURCE {source} WAIVE {_text(check)}", follows)
        )
    if isinstance(error, DecodeFailed | UpstreamChanged):
        ways.append(_skip(source, step, error))
    return tuple(ways)


def _skip(source: str, step: Step, error: DecodeFailed | UpstreamChanged) -> WayOut:
    """Gives up what is lost, or from the failing record to the end of the claimed range; a step
    that still probes has claimed none."""
    partition = _text(error.partition)
    if isinstance(error, UpstreamChanged) and error.upper is not None:
        statement = f"ALTER SOURCE {source} SKIP {partition} FROM {error.offset} TO {error.upper}"
        follows = f"Nothing of {error.partition} below {error.upper} is read. The rest is."
        return WayOut(f"SKIP {error.partition}", statement, follows)
    upper = next(
        (increment.upper for increment in step.increments if increment.name == error.partition),
        None,
    )
    if upper is not None:
        statement = f"ALTER SOURCE {source} SKIP {partition} FROM {error.offset} TO {upper}"
        follows = (
            f"Nothing of {error.partition} from {error.offset} to {upper}, the end of the "
            "claimed range, is ever read."
        )
    else:
        statement = f"ALTER SOURCE {source} SKIP {partition}"
        follows = f"Nothing more of {error.partition} is read. Its published rows stay."
    return WayOut(f"SKIP {error.partition}", statement, follows)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def step_of(payload: object) -> Step | None:
    """The ingestion step of a claim, or None if it is of another kind or of another version."""
    try:
        return Step.from_payload(payload) if isinstance(payload, dict) else None
    except ReclockError:
        return None

"""Transcripts of writers at work on one source: what happened (``·``), and what each of them did
next (``→``).

``pytest tests/flows/ingestion --rewrite`` writes what happens now. The commands, after ``$ ``:

    upstream a.csv=8 …              how far the upstream has each partition
    break a.csv 4, mend a.csv       whether the record at that offset decodes
    disconnect, connect             whether the upstream answers
    W ingests 20                    the writer W brings a step to staged rows; `killed-at F` or `pauses-at F` stops it at a
                                    failpoint, a pause for the commands in the lines after ``| ``
    W audits, W publishes           `W audits failing CHECK …`: these checks fail
    lease ends                      the claim's writer has not renewed its lease
    decide retry                    or `skip a.csv 4 8`, `waive CHECK`, `resnapshot`
    show                            the claim, and what readers see
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.simulated_ingestion import Killed, SimulatedSource, SimulatedWriter
from flows.transcript import replay

from reclock.errors import ReclockError, UpperMismatch
from reclock.ingest import effects, events, payload
from reclock.ingest.payload import Step
from reclock.ingest.stage import StagingOutcome

FLOWS = sorted(Path(__file__).parent.glob("*.flow"))


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_transcript(path: Path, request: pytest.FixtureRequest) -> None:
    world = World(SimulatedSource(reads_once=path.stem == "read_once"))
    answered = replay(path, _no_sql, world.command)
    if request.config.getoption("--rewrite"):
        path.write_text(answered)
    assert answered == path.read_text()


class World:
    """The source of one transcript. A writer keeps its name, not its memory, from one command to
    the next."""

    def __init__(self, source: SimulatedSource) -> None:
        self.source = source

    def command(self, words: list[str], body: str) -> str:
        """What happened, a line each."""
        lines: list[str] = []
        match words:
            case ["upstream", *ends]:
                self.source.ends |= {
                    partition: int(end)
                    for partition, _, end in (text.partition("=") for text in ends)
                }
            case ["break", partition, offset]:
                self.source.broken[partition] = int(offset)
            case ["mend", partition]:
                del self.source.broken[partition]
            case ["disconnect"]:
                self.source.is_away = True
            case ["connect"]:
                self.source.is_away = False
            case ["lease", "ends"]:
                self.source.let_lease_end()
            case ["decide", decision, *arguments]:
                self._decide(decision, arguments, lines)
            case ["show"]:
                lines += self._shown()
            case [owner, "ingests", at, *stop]:
                self._run(owner, stop, body, lines, lambda writer: writer.ingest(int(at)))
            case [owner, "audits", *failing]:
                self._run(owner, [], body, lines, lambda writer: writer.audit(tuple(failing[1:])))
            case [owner, "publishes", *stop]:
                self._run(owner, stop, body, lines, SimulatedWriter.publish)
            case _:
                raise ValueError(f"unknown command {words}")
        return "".join(f"{line}\n" for line in lines)

    def _run(
        self,
        owner: str,
        stop: list[str],
        body: str,
        lines: list[str],
        work: Callable[[SimulatedWriter], object],
    ) -> None:
        def reaches(failpoint: str) -> None:
            if stop == ["killed-at", failpoint]:
                raise Killed
            if stop == ["pauses-at", failpoint]:
                for command in body.splitlines():
                    lines.append(f"    $ {command}")
                    lines.extend(
                        f"    {line}" for line in self.command(command.split(), "").splitlines()
                    )

        writer = SimulatedWriter(
            self.source, owner, reaches, lambda item: lines.append(described(item))
        )
        try:
            work(writer)
        except Killed:
            lines.append(f"{owner} is killed")
        except UpperMismatch as passed:
            lines.append(f"refused: {passed.message}")

    def _decide(self, decision: str, arguments: list[str], lines: list[str]) -> None:
        change: Callable[..., dict[str, Any]] = getattr(payload, decision)
        try:
            if decision == "waive":
                self.source.decide(change, arguments)
            elif decision == "skip":
                partition, lower, upper = arguments
                self.source.decide(change, [(partition, int(lower), int(upper))])
            else:
                self.source.decide(change)
        except ReclockError as error:
            lines.append(f"refused: {error.message}")

    def _shown(self) -> list[str]:
        claim = self.source.claim
        lines = [f"published below {self.source.upper}"]
        lines += [
            f"  at {at}: {_ranges(rows) or 'nothing'}"
            for at, rows in sorted(self.source.visible().items())
        ]
        if claim is None:
            return [*lines, "nothing is claimed"]
        lease = (
            f"{claim.lease_until - self.source.now} ms left"
            if claim.lease_until > self.source.now
            else "no lease"
        )
        return [*lines, f"{claim.owner} claims {_step(Step.from_payload(claim.payload))}; {lease}"]


def described(item: events.Event | effects.Effect) -> str:
    """A line of a transcript."""
    if isinstance(item, effects.Final):
        return f"= {_end(item)}"
    if isinstance(item, effects.Effect):
        return f"  → {_effect(item)}"
    return f"· {_event(item)}"


def _event(event: events.Event) -> str:
    match event:
        case events.Started(is_claimed):
            return "started: " + ("a step stands" if is_claimed else "nothing is claimed")
        case events.Inspected(step, is_committed) | events.TakenOver(step, is_committed):
            kind = "inspected" if isinstance(event, events.Inspected) else "taken over"
            return f"{kind}: {_step(step)}" + (", committed" if is_committed else "")
        case events.ClaimLost(conflict):
            return f"claim lost: {conflict.owner or 'another writer'} holds it"
        case events.Examined(upper, must_read_once):
            return f"examined: bound below {upper}" + (
                ", to be read once" if must_read_once else ""
            )
        case events.Probed(_, increments):
            return "probed: " + (_increments(increments) or "nothing new")
        case events.RangesReread(increments):
            return "reread: " + (_increments(increments) or "nothing is left")
        case events.RowsStaged(StagingOutcome(), increments):
            return "rows staged" + (f": {_increments(increments)}" if increments else "")
        case events.SourceFailed(error):
            return f"source failed: {error.message}"
        case events.AuditConcluded(failed):
            return "audit concluded: " + (
                ", ".join(failed) + " failed" if failed else "all checks passed"
            )
        case _:
            return _WORDS[type(event)]


def _effect(effect: effects.Effect) -> str:
    match effect:
        case effects.Failpoint(name):
            return f"({name})"
        case effects.ClaimGroup(step, has_lease) | effects.SaveStep(step, has_lease):
            return f"{_WORDS[type(effect)]} {_step(step)}" + ("" if has_lease else "; no lease")
        case effects.ReleaseClaim(step):
            return f"release {_step(step)}"
        case effects.WriteBindings(_, bindings):
            return "bind " + ", ".join(
                f"{binding.partition} +{binding.increment}" for binding in bindings
            )
        case effects.DiscardStaged(staging):
            return f"discard {staging}"
        case effects.StageRows(step) | effects.ReadOnce(step) | effects.SealFiles(step):
            return f"{_WORDS[type(effect)]} {step.staging}"
        case _:
            return _WORDS[type(effect)]


_WORDS: dict[type, str] = {
    events.GroupUnclaimed: "nothing is claimed",
    events.BindingsWritten: "bindings written",
    events.FilesSealed: "sealed",
    events.RowsCommitted: "committed",
    effects.TakeOverClaim: "take over",
    effects.ClaimGroup: "claim",
    effects.SaveStep: "save",
    effects.AbandonClaim: "abandon the claim",
    effects.ExamineSource: "examine",
    effects.ProbeUpstream: "probe",
    effects.RereadRanges: "reread",
    effects.StageRows: "stage",
    effects.ReadOnce: "read once",
    effects.SealFiles: "seal",
    effects.RecordSkips: "record skips",
    effects.CommitRows: "commit",
}


def _end(end: effects.Final) -> str:
    match end:
        case effects.End(state, conflict):
            return f"{state}" + (
                f": {conflict.owner or 'another writer'} is at work" if conflict is not None else ""
            )
        case effects.StallSource(error):
            return f"stalled: {error.message}"
        case effects.NotReady():
            return "not ready"
        case effects.ReadyToAudit():
            return "to be audited"
        case effects.ReadyToPublish():
            return "ready to publish"


def _step(step: Step) -> str:
    parts = [f"{step.phase} at {step.at}"]
    if step.increments:
        parts.append(_increments(step.increments))
    if step.blocking:
        parts.append(f"blocked by {', '.join(step.blocking)}")
    parts += [f"skips {_ranges((skip,))}" for skip in step.decisions.skip]
    if step.decisions.is_reread:
        parts.append("to be reread")
    if step.error is not None:
        parts.append("stalled")
    return ", ".join(parts)


def _increments(increments: tuple[Any, ...]) -> str:
    return _ranges(
        tuple((increment.name, increment.lower, increment.upper) for increment in increments)
    )


def _ranges(ranges: tuple[tuple[str, int, int], ...]) -> str:
    return ", ".join(f"{partition} {lower}–{upper}" for partition, lower, upper in ranges)


def _no_sql(text: str) -> str:
    raise ValueError(f"no SQL here: {text}")

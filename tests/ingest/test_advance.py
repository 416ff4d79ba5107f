"""The protocol of an ingestion step, without Spark and stores: however writers stop, every offset
is published once."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from fixtures.simulated_ingestion import Killed, SimulatedSource, SimulatedWriter
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reclock.connectors.connector import Increment
from reclock.errors import AuditFailed, ReclockError
from reclock.ingest import advance as protocol
from reclock.ingest import effects, events, payload
from reclock.ingest.report import IngestState

SOURCES = {
    "one output": SimulatedSource,
    "two outputs": lambda: SimulatedSource(("auctions", "bids")),
    "read once": lambda: SimulatedSource(reads_once=True),
}
ANSWERED = (
    effects.TakeOverClaim,
    effects.ExamineSource,
    effects.ProbeUpstream,
    effects.RereadRanges,
    effects.WriteBindings,
    effects.StageRows,
    effects.ReadOnce,
    effects.SealFiles,
    effects.CommitRows,
)
FINAL = (
    effects.End,
    effects.StallSource,
    effects.NotReady,
    effects.ReadyToAudit,
    effects.ReadyToPublish,
)


def tick(source, at, owner, reaches=lambda name: None):
    writer = SimulatedWriter(source, owner, reaches)
    end = writer.ingest(at)
    if source.claim is not None:
        writer.audit()
        writer.publish()
    return end


def reached(make):
    """Every failpoint of the second step of a source, in order."""
    source, names = make(), []
    second_step(source, "first", names.append)
    return names


def second_step(source, owner, reaches):
    source.ends = {"a": 8}
    tick(source, 10, "first")
    source.ends = {"a": 10, "b": 4}
    return tick(source, 20, owner, reaches)


def killing_at(number):
    """Kills at the failpoint of that number, counted from 0."""
    ahead = iter(range(number + 1))
    next(ahead)

    def reaches(name):
        if next(ahead, None) is None:
            raise Killed(name)

    return reaches


STOPS = [
    (kind, number, name)
    for kind, make in SOURCES.items()
    for number, name in enumerate(reached(make))
]


@pytest.mark.parametrize(("kind", "number", "name"), STOPS)
def test_a_kill_at_any_failpoint_changes_nothing_of_the_mapping(kind, number, name):
    source = SOURCES[kind]()
    with pytest.raises(Killed, match=name):
        second_step(source, "first", killing_at(number))
    assert source.visible(source.outputs[0]).keys() == (
        {10, 20} if name == "ingest.after_publish" else {10}
    )
    source.let_lease_end()
    for at in (30, 40):
        tick(source, at, "second")
    at = 30 if name == "ingest.after_probe" else 20  # nothing had been claimed before
    mapping = {10: (("a", 0, 8),), at: (("a", 8, 10), ("b", 0, 4))}
    assert [source.visible(output) for output in source.outputs] == [mapping] * len(source.outputs)
    assert source.claim is None


OWNERS = st.sampled_from(["first", "second"])
MEANWHILE = st.sampled_from(["killed", "fenced", "retry", "skip"])
ACTIONS = st.one_of(
    st.tuples(st.just("grow"), st.sampled_from("ab"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["ingest", "publish"]), OWNERS, st.integers(0, 12), MEANWHILE),
    st.tuples(st.just("audit"), OWNERS, st.booleans()),
    st.tuples(st.just("decide"), st.sampled_from(["retry", "skip", "waive"])),
    st.tuples(st.just("lease")),
    st.tuples(st.just("away"), st.booleans()),
)


class History:
    """Writers and people at work on a source. What is refused is not done."""

    def __init__(self, source):
        self.source, self.now, self.skipped = source, 10, set()

    def act(self, kind, *arguments):
        self.now += 10
        with suppress(Killed, ReclockError):
            getattr(self, kind)(*arguments)

    def grow(self, partition, offsets):
        self.source.ends[partition] = self.source.ends.get(partition, 0) + offsets

    def ingest(self, owner, number, meanwhile):
        SimulatedWriter(self.source, owner, self.at_failpoint(number, meanwhile)).ingest(self.now)

    def publish(self, owner, number, meanwhile):
        if self.source.claim is not None:
            SimulatedWriter(self.source, owner, self.at_failpoint(number, meanwhile)).publish()

    def audit(self, owner, fails):
        if self.source.claim is not None:
            SimulatedWriter(self.source, owner).audit(("row_count",) if fails else ())

    def decide(self, decision):
        if self.source.claim is None:
            return
        step = payload.Step.from_payload(self.source.claim.payload)
        if decision == "skip":
            first = step.increments[0] if step.increments else Increment("a", 0, 1, 1)
            self.source.decide(payload.skip, [(first.name, first.lower, first.lower + 1)])
            self.skipped.add((first.name, first.lower))
        else:
            self.source.decide(
                *((payload.waive, ["row_count"]) if decision == "waive" else (payload.retry,))
            )

    def lease(self):
        self.source.let_lease_end()

    def away(self, is_away):
        self.source.is_away = is_away

    def at_failpoint(self, number, meanwhile):
        """What happens at the failpoint of that number, counted from 0."""
        ahead: Iterator[int] | None = iter(range(number))

        def reaches(name):
            nonlocal ahead
            if ahead is None or next(ahead, None) is not None:
                return
            ahead = None
            match meanwhile:
                case "killed":
                    raise Killed(name)
                case "fenced":
                    self.lease()
                    with suppress(ReclockError):
                        tick(self.source, self.now - 5, "third")
                case _:
                    with suppress(ReclockError):
                        self.decide(meanwhile)

        return reaches


@settings(max_examples=400)
@example("one output", [("grow", "a", 3), ("ingest", "first", 0, "fenced")])
@given(st.sampled_from(sorted(SOURCES)), st.lists(ACTIONS, max_size=30))
def test_every_offset_is_published_once_whatever_writers_and_people_do(kind, actions):
    source = SOURCES[kind]()
    history, published = History(source), {}
    for action in actions:
        history.act(*action)
        visible = source.visible(source.outputs[0])
        assert published.items() <= visible.items(), "what was published has changed"
        published = visible
    source.is_away = False
    for _ in range(3):
        history.act("lease")
        history.act("decide", "waive")
        tick(source, history.now, "last")
    assert source.claim is None
    for output in source.outputs:
        assert source.visible(output) == source.visible(source.outputs[0])
        offsets = [
            (partition, offset)
            for ranges in source.visible(output).values()
            for partition, lower, upper in ranges
            for offset in range(lower, upper)
        ]
        assert len(offsets) == len(set(offsets))
        upstream = {
            (partition, offset) for partition, end in source.ends.items() for offset in range(end)
        }
        assert set(offsets) <= upstream <= {*offsets, *history.skipped}
        skipped = {(key, offset) for key, *range_ in source.skipped for offset in range(*range_)}
        assert upstream - set(offsets) == skipped, "a rebuild would not make the same rows"


@pytest.mark.parametrize("kind", SOURCES)
def test_only_the_last_effect_of_an_event_is_answered(kind, monkeypatch):
    advance = protocol.advance

    def checked(ingestion, event):
        ingestion, todo = advance(ingestion, event)
        assert isinstance(todo[-1], ANSWERED + FINAL)
        assert not any(isinstance(effect, ANSWERED + FINAL) for effect in todo[:-1])
        return ingestion, todo

    monkeypatch.setattr(protocol, "advance", checked)
    assert second_step(SOURCES[kind](), "first", lambda name: None).state is IngestState.STAGED


def test_rows_are_bound_before_they_are_read_and_durable_before_the_claim_names_them():
    source = SimulatedSource(ends={"a": 8})
    order: list[object] = []

    def log(item):
        match item:
            case events.BindingsWritten() | effects.StageRows() | events.FilesSealed():
                order.append(type(item))
            case effects.SaveStep(step) if step.staged:
                order.append(step.phase)

    SimulatedWriter(source, "first", log=log).ingest(20)
    assert order == [
        events.BindingsWritten,
        effects.StageRows,
        events.FilesSealed,
        payload.Phase.STAGED,
    ]


def test_a_step_of_several_outputs_says_that_it_is_being_committed_before_the_first_has_its_rows():
    source, carried_out = SOURCES["two outputs"](), []
    source.ends = {"a": 8}
    writer = SimulatedWriter(source, "first", log=carried_out.append)
    writer.ingest(20)
    writer.audit()
    writer.publish()
    saved = [
        number for number, item in enumerate(carried_out) if isinstance(item, effects.SaveStep)
    ]
    assert carried_out[saved[-1]].step.phase is payload.Phase.COMMITTING
    assert saved[-1] < carried_out.index(
        next(item for item in carried_out if isinstance(item, effects.CommitRows))
    )


def test_a_step_that_is_not_ready_keeps_its_writers_lease():
    source = SimulatedSource(ends={"a": 8})
    SimulatedWriter(source, "first").ingest(20)
    standing = source.claim
    assert isinstance(SimulatedWriter(source, "second").publish(), effects.NotReady)
    assert source.claim == standing
    SimulatedWriter(source, "first").audit(("row_count",))
    blocked = source.claim
    end = SimulatedWriter(source, "second").publish()
    assert isinstance(end, effects.StallSource)
    assert isinstance(end.error, AuditFailed)
    assert source.claim == blocked

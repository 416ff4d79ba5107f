"""The laws of reclocking over channels that forget: each message at one time or a definite error,
whichever steps are lost."""

from __future__ import annotations

from fixtures.pubnub_server import CACHE, Service
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.pubnub import CACHE_TIMETOKENS, PubNub, SubscribeResponse, decoded
from reclock.definitions.sources import PubNubConnector
from reclock.errors import UpstreamChanged
from reclock.reclocking.mint import Binding, mint
from reclock.reclocking.remap import Remap

DESC = RelationDesc((Column("text", TEXT, is_nullable=False),))

publishes = st.tuples(st.just("publish"), st.integers(1, 3), st.integers(1, 5))
floods = st.tuples(st.just("publish"), st.integers(1, 3), st.integers(CACHE - 3, CACHE + 3))
pauses = st.tuples(st.just("pause"), st.integers(1, CACHE_TIMETOKENS * 3 // 4), st.just(0))
steps = st.tuples(st.just("step"), st.booleans(), st.just(0))
histories = st.lists(publishes | publishes | floods | pauses | steps | steps, max_size=25)


class InMemory(PubNub):
    """The connector, without a network between it and the service."""

    service: Service

    def _ask(self, timetoken: int, region: int | None) -> SubscribeResponse | None:
        return decoded(InMemory.service.answer("c", timetoken))


class Run:
    """A channel and what was heard of it; each step knows nothing but what is bound, as after a
    restart."""

    def __init__(self) -> None:
        self.service, self.time = Service(), 0
        InMemory.service = self.service
        self.published: list[tuple[int, int]] = []
        """Since the first step: timetoken, region."""
        self.bindings: list[Binding] = []
        self.bound: dict = {}
        self.heard: list[tuple[int, int]] = []
        """Timetoken, time."""
        self.step()

    def step(self, *, is_lost: bool = False) -> None:
        self.time += 1
        connector = InMemory(PubNubConnector("demo", "c"), DESC)
        with connector.read_once(self.bound) as (increments, tasks):
            heard = [
                int(text)
                for task in tasks
                for _, table in connector.read(task)
                for text in table["text"].to_pylist()
            ]
        if is_lost:
            return
        frontier = Remap.of(self.bindings).frontier_at(Timestamp(self.time))
        assert all(
            increment.lower == frontier.get(increment.partition, 0) for increment in increments
        )
        self.bindings += mint(
            {increment.partition: increment.upper for increment in increments},
            frontier,
            Timestamp(self.time),
        )
        self.bound |= {
            increment.partition: (increment.upper, *increment.evidence) for increment in increments
        }
        self.heard += [(timetoken, self.time) for timetoken in heard]

    def play(self, operation: str, first: int, second: int) -> None:
        match operation:
            case "publish":
                for _ in range(second):
                    [timetoken] = self.service.publish("c", self.service.now + 7, region=first)
                    self.published.append((timetoken, first))
            case "pause":
                self.service.now += first
                # the service is sure to keep them as long as it says, and often forgets after
                if first > CACHE_TIMETOKENS // 2:
                    messages = self.service.channels.get("c", [])
                    self.service.channels["c"] = [
                        message
                        for message in messages
                        if message[0] >= self.service.now - CACHE_TIMETOKENS
                    ]
            case _:
                self.step(is_lost=bool(first))


@given(histories)
def test_every_message_has_one_time_or_there_is_an_error(history):
    run = Run()
    try:
        for operation in history:
            run.play(*operation)
        run.step()
    except UpstreamChanged:
        assert len(run.published) >= CACHE or any(operation == "pause" for operation, *_ in history)
        return
    remap = Remap.of(run.bindings)
    assert [timetoken for timetoken, _ in run.heard] == [
        timetoken for timetoken, _ in run.published
    ]
    regions = dict(run.published)
    assert all(
        remap.time_of(regions[timetoken], timetoken * 100) == time for timetoken, time in run.heard
    )
    times = [time for _, time in run.heard]
    assert times == sorted(times)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["1", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["t", "m", "p", "r", "d", "e"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=500)
@given(ANYTHING | st.fixed_dictionaries({"t": ANYTHING, "m": st.lists(ANYTHING, max_size=2)}))
def test_any_answer_is_read_or_refused(answer):
    try:
        found = decoded(answer)
    except ValueError:
        return
    assert all(0 <= message.offset < 2**63 for message in found.messages)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=5
    )
)
def test_any_payload_is_a_row(payload):
    answer = decoded({"t": {"t": "1", "r": 1}, "m": [{"p": {"t": "1", "r": 1}, "d": payload}]})
    [message] = answer.messages
    message.text.encode()

"""The connector of PubNub channels: a partition is a region, an offset is a timetoken in
nanoseconds.

The service keeps a channel's newest 100 messages for some minutes, and does not report the messages
that it dropped. So messages are staged before they are bound (see ``ReadsOnce``), and each step
asks again from before the newest bound message. If that message comes back, none was lost in
between. If it does not, messages may have been lost if the response is full, or if no step asked
for longer than the service keeps messages. Then the connector raises an error, and is never silent.

A source begins with the messages that are published after its first step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.collections.schema import arrow_schema
from reclock.connectors.connector import (
    Bound,
    CheckResult,
    Evidence,
    Increment,
    Skip,
    remaining_ranges,
)
from reclock.definitions.sources import PubNubConnector
from reclock.errors import SourceError, UpstreamChanged, UpstreamUnavailable

if TYPE_CHECKING:
    from pubnub.pubnub import PubNub as PubNubClient

TIMETOKEN_NS = 100
"""The unit of a timetoken, in nanoseconds."""

CACHE_MESSAGES = 100
"""How many messages of a channel the service keeps, and so the most in one response."""

CACHE_TIMETOKENS = 15 * 60 * 10**7
"""How long the service is sure to keep them, in timetokens."""

STEP_ANSWERS = 20
"""The most requests of one step."""

_SILENCE_S = 3
"""How long to wait for a response: without a message the service waits for one."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message: published in ``region`` at ``timetoken``."""

    region: int
    timetoken: int
    text: str

    @property
    def offset(self) -> int:
        return self.timetoken * TIMETOKEN_NS


@dataclass(frozen=True, slots=True)
class SubscribeResponse:
    """The messages after a cursor, at most ``CACHE_MESSAGES``, and the cursor after them."""

    messages: Sequence[Heard]
    timetoken: int
    region: int


@dataclass(frozen=True, slots=True)
class Texts:
    """Messages on their way to be staged."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoundState:
    """The bound state of all regions: each region's frontier; the region and timetoken (``cursor``)
    of the newest bound message, or of the source's beginning if there is none; and the timetoken
    ``heard_at`` up to which no message was missed."""

    frontier: Mapping[int, int]
    region: int
    cursor: int
    heard_at: int

    @classmethod
    def of(cls, bound: Bound) -> BoundState | None:
        if not bound:
            return None
        region, (_, cursor, heard_at) = max(
            bound.items(), key=lambda evidence: (evidence[1][2], evidence[1][1])
        )
        return cls(
            {int(str(r)): evidence[0] for r, evidence in bound.items()},
            int(str(region)),
            cursor,
            heard_at,
        )


@dataclass(frozen=True, slots=True)
class PubNub:
    """One channel, as a ``reclock.connectors.connector.ReadsOnce`` that never probes."""

    upstream: PubNubConnector
    desc: RelationDesc

    # --- in the driver ---

    def must_read_once(self, bound: Bound) -> bool:
        return True

    @contextmanager
    def read_once(
        self,
        bound: Bound,
        skips: Sequence[Skip] = (),
        *,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Iterator[tuple[list[Increment], list[Texts]]]:
        now = self._ask(0, None)
        if now is None:
            raise self._unavailable("no answer in time")
        bound_state = BoundState.of(bound)
        if bound_state is None:
            begin = now.timetoken * TIMETOKEN_NS
            yield [Increment(now.region, 0, begin, begin, (now.timetoken, now.timetoken))], []
            return
        messages = self._hear(bound_state, now, skips)
        cursor = max((message.timetoken for message in messages), default=bound_state.cursor)
        reached: dict[int, int] = {}
        for message in messages:
            reached[message.region] = message.offset + TIMETOKEN_NS
        if not messages and now.timetoken - bound_state.heard_at > CACHE_TIMETOKENS // 4:
            reached[bound_state.region] = bound_state.frontier[
                bound_state.region
            ]  # renews the evidence
        increments = []
        for region, upper in sorted(reached.items()):
            lower = bound_state.frontier.get(region, 0)
            increments.append(
                Increment(region, lower, upper, upper - lower, (cursor, now.timetoken))
            )
        texts = [
            message.text
            for message in messages
            if remaining_ranges(
                message.region, message.offset, message.offset + TIMETOKEN_NS, skips
            )
        ]
        yield increments, [Texts(tuple(texts))] if texts else []

    def _hear(
        self, bound_state: BoundState, now: SubscribeResponse, skips: Sequence[Skip]
    ) -> list[Heard]:
        """All unbound messages, in order within each region. Raises ``UpstreamChanged`` if one may
        be missing."""
        frontier = dict(bound_state.frontier)
        cursor, region, heard_at = bound_state.cursor, bound_state.region, bound_state.heard_at
        unbound: list[Heard] = []
        for _ in range(STEP_ANSWERS):
            answer = self._ask(cursor - 1, region)
            if answer is None or not answer.messages:
                if now.timetoken - heard_at > CACHE_TIMETOKENS:
                    self._check(bound_state, now.timetoken, skips)
                break
            new_messages = [
                message
                for message in answer.messages
                if message.offset >= frontier.get(message.region, 0)
            ]
            is_joined = len(new_messages) < len(answer.messages)
            is_full = len(answer.messages) >= CACHE_MESSAGES
            is_late = now.timetoken - heard_at > CACHE_TIMETOKENS
            if not is_joined and (is_full or is_late):
                if unbound:  # the next step continues from these
                    break
                self._check(bound_state, answer.messages[0].timetoken, skips)
            if not new_messages:
                break
            for message in new_messages:
                frontier[message.region] = message.offset + TIMETOKEN_NS
            unbound += new_messages
            cursor = max(message.timetoken for message in new_messages)
            region = answer.region
            heard_at = now.timetoken
        return unbound

    def _check(self, bound_state: BoundState, first: int, skips: Sequence[Skip]) -> None:
        """Raises ``UpstreamChanged`` unless ``skips`` cover the messages that may be missing before
        the timetoken ``first``."""
        region, lower = bound_state.region, bound_state.frontier[bound_state.region]
        upper = max(lower + 1, first * TIMETOKEN_NS)
        if remaining_ranges(region, lower, upper, skips):
            raise UpstreamChanged(
                str(region),
                lower,
                message=(
                    f'messages of channel "{self.upstream.channel}" may have been lost after '
                    f"timetoken {bound_state.cursor}"
                ),
                detail=(
                    f"the service keeps {CACHE_MESSAGES} messages for some minutes; to go "
                    f"on, SKIP from {lower} to {upper}"
                ),
            )

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """Never called: the messages that a probe found might be gone when they are read."""
        return []

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        return claimed

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[Texts]:
        return []

    def size_bytes(self, task: Texts) -> int:
        return sum(map(len, task.texts))

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Channels do not track readers."""

    def check(self, bound: Bound) -> Iterator[CheckResult]:
        now = self._ask(0, None)
        if now is None:
            raise self._unavailable("no answer in time")
        yield CheckResult("service", True, f"region {now.region}, timetoken {now.timetoken}")

    # --- in executors ---

    def read(self, task: Texts) -> Iterator[tuple[str, pa.Table]]:
        yield (
            "",
            pa.table(
                [pa.array(task.texts, pa.string())],
                schema=arrow_schema(self.desc, with_updates=False),
            ),
        )

    # --- the service ---

    def _ask(self, timetoken: int, region: int | None) -> SubscribeResponse | None:
        """The messages after a cursor; None if none was published in time. The cursor 0 asks for
        the newest timetoken, and returns at once."""
        from pubnub.endpoints.pubsub.subscribe import Subscribe
        from pubnub.enums import PNStatusCategory
        from pubnub.exceptions import PubNubException

        client = connected(self.upstream.subscribe_key, self.upstream.origin)
        request = Subscribe(
            client,
            channels=self.upstream.channel,
            timetoken=str(timetoken),
            region=None if region is None else str(region),
        )
        try:
            request.validate_params()
            envelope = client.request_sync(request.options())
            if envelope.status.is_error():
                if envelope.status.category == PNStatusCategory.PNTimeoutCategory and timetoken:
                    return None
                raise self._unavailable(str(envelope.status.error_data.information))
            return decoded(envelope.result)
        except PubNubException as error:
            raise self._unavailable(str(error)) from error
        except ValueError as error:
            raise self._unavailable("its answer is not of the protocol") from error

    def _unavailable(self, detail: str) -> SourceError:
        return UpstreamUnavailable(f'cannot hear channel "{self.upstream.channel}"', detail=detail)


@lru_cache
def connected(subscribe_key: str, origin: str) -> PubNubClient:
    """A client of PubNub, or of the server at ``origin`` if it is given."""
    from pubnub.pnconfiguration import PNConfiguration
    from pubnub.pubnub import PubNub as Client

    settings = PNConfiguration(subscribe_key=subscribe_key, uuid="reclock")
    if origin:
        scheme, _, settings.origin = origin.rpartition("//")
        settings.ssl = scheme != "http:"
    settings.subscribe_request_timeout = _SILENCE_S
    settings.daemon = True
    return Client(settings)


def decoded(answer: Any) -> SubscribeResponse:
    """The service's response, decoded. Raises ``ValueError`` if it is not of the protocol."""
    try:
        messages = [
            Heard(_natural(message["p"]["r"]), _natural(message["p"]["t"]), _text(message["d"]))
            for message in answer["m"]
            if message.get("e", 0) in (0, None)  # other types are signals, object events and files
        ]
        return SubscribeResponse(messages, _natural(answer["t"]["t"]), _natural(answer["t"]["r"]))
    except (AttributeError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(f"not an answer to a subscriber: {error}") from error


def _natural(value: Any) -> int:
    number = int(value)
    if not 0 <= number < 2**63 // TIMETOKEN_NS - 1:
        raise ValueError(f"{number} is no timetoken")
    return number


def _text(payload: Any) -> str:
    """The payload as JSON; what UTF-8 cannot hold is escaped."""
    text = json.dumps(payload, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(payload)
    return text

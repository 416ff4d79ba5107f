"""A queue (SQS) to which a bucket reports new objects, so that not every probe lists the whole
bucket.

Messages may arrive twice, in any order, late, or never, so they only say where to look. A message
is deleted when everything that it reports is durably bound, or needs no binding. Until then the
queue delivers it again, also to another process if this one dies. For objects that were never
reported, a process lists the bucket when it first looks at the source, and then every
``SCAN_EVERY_S``.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from reclock.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from botocore.client import BaseClient

SCAN_EVERY_S = 3600

MESSAGES = 5_000
"""The most messages received at once."""

_BATCH = 10
_HIDDEN_S = 300
"""How long the queue hides a received message from other readers."""


@dataclass(slots=True)
class _QueueState:
    """What this process knows of one queue. A key is ``unseen`` until a probe looked at it, and
    then ``open`` until its bytes are bound up to the probed end."""

    scan_at: float = 0
    messages: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """By message id: the handle that deletes it, and the keys that it reports."""
    unseen: set[str] = field(default_factory=set)
    open: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@lru_cache(maxsize=1024)
def _state_of(source: str, name: str, client: tuple[tuple[str, str], ...]) -> _QueueState:
    return _QueueState()


@dataclass(frozen=True, slots=True)
class NotificationQueue:
    """The queue of one source, with no other readers. ``client`` has boto3's settings."""

    source: str
    name: str
    client: Mapping[str, str] = field(repr=False)

    def keys_to_probe(self, bucket: str, bound: Mapping[str, int]) -> set[str] | None:
        """The keys to look at; None means all. ``bound`` has the bound length of each key. Raises
        ``UpstreamUnavailable``."""
        state = self._state
        with state.lock:
            state.open = {
                key: upper for key, upper in state.open.items() if bound.get(key, 0) < upper
            }
            self._settle(state)
            if time.monotonic() >= state.scan_at:
                return None
            for message in self._receive():
                keys = frozenset(_keys(message["Body"], bucket))
                state.messages[message["MessageId"]] = (message["ReceiptHandle"], keys)
                state.unseen |= keys
            return state.unseen | state.open.keys()

    def mark_probed(self, keys: Collection[str] | None, uppers: Mapping[str, int]) -> None:
        """Record that a probe looked at ``keys`` (None: at all). ``uppers`` has the end of each key
        that has bytes to bind."""
        state = self._state
        with state.lock:
            if keys is None:
                state.scan_at = time.monotonic() + SCAN_EVERY_S
                state.unseen.clear()
                state.open.clear()
            else:
                state.unseen.difference_update(keys)
                state.open = {key: upper for key, upper in state.open.items() if key not in keys}
            state.open |= uppers
            self._settle(state)

    def check(self) -> str:
        """About how many messages wait, as text. Raises ``UpstreamUnavailable``."""
        with self._answering():
            names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
            attributes = _client(self._settings).get_queue_attributes(
                QueueUrl=self._url, AttributeNames=names
            )["Attributes"]
        return (
            f'about {attributes[names[0]]} messages wait in "{self.name}", '
            f"{attributes[names[1]]} are being read"
        )

    # --- how ---

    def _settle(self, state: _QueueState) -> None:
        """Delete the messages whose keys are all bound."""
        waiting = state.unseen | state.open.keys()
        settled = [
            (id, receipt)
            for id, (receipt, keys) in state.messages.items()
            if waiting.isdisjoint(keys)
        ]
        for at in range(0, len(settled), _BATCH):
            entries = [
                {"Id": str(n), "ReceiptHandle": message[1]}
                for n, message in enumerate(settled[at : at + _BATCH])
            ]
            with self._answering():  # the queue delivers refused messages again
                _client(self._settings).delete_message_batch(QueueUrl=self._url, Entries=entries)
            for id, _ in settled[at : at + _BATCH]:
                del state.messages[id]

    def _receive(self) -> Iterator[Mapping[str, Any]]:
        for _ in range(MESSAGES // _BATCH):
            with self._answering():
                answer = _client(self._settings).receive_message(
                    QueueUrl=self._url,
                    MaxNumberOfMessages=_BATCH,
                    VisibilityTimeout=_HIDDEN_S,
                    WaitTimeSeconds=0,
                )
            messages: Sequence[Mapping[str, Any]] = answer.get("Messages", ())
            yield from messages
            if not messages:
                return

    @property
    def _settings(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self.client.items()))

    @property
    def _state(self) -> _QueueState:
        return _state_of(self.source, self.name, self._settings)

    @property
    def _url(self) -> str:
        return _queue_url(self.name, self._settings)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise UpstreamUnavailable(
                f'cannot read queue "{self.name}"', detail=str(error)
            ) from error


def _keys(body: str, bucket: str) -> Iterator[str]:
    """The keys of the bucket that a message reports, directly or through a topic (SNS). None of
    them if the message is no notification."""
    try:
        notification = json.loads(body)
        if "Message" in notification:
            notification = json.loads(notification["Message"])
        for record in notification.get("Records", ()):
            if record["s3"]["bucket"]["name"] == bucket:
                yield unquote_plus(record["s3"]["object"]["key"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return


@lru_cache(maxsize=32)
def _queue_url(name: str, settings: tuple[tuple[str, str], ...]) -> str:
    return str(_client(settings).get_queue_url(QueueName=name)["QueueUrl"])


@lru_cache(maxsize=32)
def _client(settings: tuple[tuple[str, str], ...]) -> BaseClient:
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        connect_timeout=5, read_timeout=30, retries={"max_attempts": 3, "mode": "standard"}
    )
    return Session().client("sqs", **{"region_name": "us-east-1", **dict(settings)}, config=config)

"""How a trigger asks which sources have news upstream: a warm process, or an environment that the
triggerer has open."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reclock.airflow.warm import WarmProcess, WarmProcessGone, WarmProcessRefuses

if TYPE_CHECKING:
    from reclock.airflow.hooks import ReclockHook
    from reclock.client.client import Client
    from reclock.errors import ReclockError

_STEP = "upstream news"

_WAIT_S = 10.0


class NewsUnknown(Exception):
    """Nobody can say at the moment which sources have news; the message has the reason."""


@dataclass(frozen=True, slots=True)
class UpstreamNews:
    """The sources that have news, by full name with its fingerprint, and the upstreams that could
    not be asked, a line each."""

    fingerprints: Mapping[str, str]
    failures: Sequence[str]


class NewsReader(Protocol):
    """Blocks while it asks: to be used in a thread."""

    def read(self, sources: Sequence[str] | None) -> UpstreamNews:
        """What ``sources`` (all, if None) have. Raises ``NewsUnknown``."""

    def close(self) -> None:
        """Also while another thread reads: waits for it."""


class WarmNewsReader:
    """Has a warm process probe. Requests with one ``key`` share one probe."""

    def __init__(self, process: WarmProcess, key: str) -> None:
        self._process = process
        self._key = key

    def read(self, sources: Sequence[str] | None) -> UpstreamNews:
        try:
            self._process.start(self._key, _STEP, {"sources": sources})
            failures: list[str] = []
            while True:
                lines, outcome = self._process.look(self._key, after=len(failures), wait_s=_WAIT_S)
                failures += lines
                if outcome is not None:
                    break
        except (WarmProcessGone, WarmProcessRefuses) as error:
            raise NewsUnknown(str(error)) from None
        if outcome.get("error"):
            raise NewsUnknown(outcome["error"]["message"])
        return UpstreamNews(outcome["result"], failures)

    def close(self) -> None:
        """Nothing is open."""


class EmbeddedNewsReader:
    """Probes in this process. The environment stays open between reads, and is opened again after
    an error: another process may have upgraded or restored it."""

    def __init__(self, hook: ReclockHook) -> None:
        self._hook = hook
        self._lock = threading.Lock()
        self._client: Client | None = None

    def read(self, sources: Sequence[str] | None) -> UpstreamNews:
        from reclock.errors import ReclockError

        with self._lock:
            try:
                return self._probe(sources)
            except Exception as failure:  # the edge of the trigger's loop, which must go on
                self._close()
                if isinstance(failure, ReclockError):
                    raise NewsUnknown(full_message(failure)) from failure
                raise NewsUnknown(f"{type(failure).__name__}: {failure}") from failure

    def close(self) -> None:
        with self._lock:
            self._close()

    def _probe(self, sources: Sequence[str] | None) -> UpstreamNews:
        from reclock.client.embedded import EmbeddedClient
        from reclock.errors import UnsupportedSql
        from reclock.pipeline.source_probes import upstream_news

        if self._client is None:
            self._client = self._hook.get_client()
        if not isinstance(self._client, EmbeddedClient):
            hint = "use a connection with the home of the environment, or name a warm process"
            raise UnsupportedSql("a client of a server cannot probe sources", hint=hint)
        failures: list[str] = []
        fingerprints = upstream_news(
            self._client.environment, sources=sources, tell=failures.append
        )
        return UpstreamNews(fingerprints, failures)

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def full_message(error: ReclockError) -> str:
    """The message of a ``ReclockError`` with its detail and hint."""
    parts = (error.message, error.detail, error.hint and f"hint: {error.hint}")
    return "; ".join(filter(None, parts))

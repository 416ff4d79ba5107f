"""Triggers: what the triggerer runs for tasks that wait and for watched assets."""

from __future__ import annotations

import asyncio
import hashlib
import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.hook import BaseHook
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, TriggerEvent

from reclock.airflow.arguments import DEFAULT_CONNECTION, names_of
from reclock.airflow.news import (
    EmbeddedNewsReader,
    NewsReader,
    NewsUnknown,
    WarmNewsReader,
    full_message,
)

if TYPE_CHECKING:
    from reclock.airflow.hooks import ReclockHook
    from reclock.errors import ReclockError

_TRANSIENT_SQLSTATES = ("08", "53", "57")
"""Classes of errors that may be gone at the next attempt: connections, resources, interventions."""


class ReclockConditionTrigger(BaseTrigger):
    """Fires once, when a condition of ``reclock.airflow.conditions`` holds or waiting is in vain.

    The event has either the condition's result as ``value``, or an ``error``. Each check opens a
    client in a thread and closes it. Errors that may pass, such as a lost connection, are logged.
    """

    def __init__(
        self,
        condition: str,
        arguments: dict[str, Any],
        reclock_conn_id: str,
        poke_interval: float,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.condition = condition
        self.arguments = arguments
        self.reclock_conn_id = reclock_conn_id
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "condition": self.condition,
                "arguments": self.arguments,
                "reclock_conn_id": self.reclock_conn_id,
                "poke_interval": self.poke_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from reclock.errors import ReclockError

        hook = await open_hook(self.reclock_conn_id)
        while True:
            try:
                value = await asyncio.to_thread(self._check, hook)
            except ReclockError as error:
                if not is_transient(error):
                    yield TriggerEvent({"error": full_message(error)})
                    return
                self.log.warning("the check failed and is repeated: %s", full_message(error))
            else:
                if value is not None:
                    yield TriggerEvent({"value": value})
                    return
            await asyncio.sleep(self.poke_interval)

    def _check(self, hook: ReclockHook) -> object:
        from reclock.airflow.conditions import CONDITIONS

        with hook.get_client() as client:
            return CONDITIONS[self.condition](**self.arguments).check(client)


class ReclockStepTrigger(BaseTrigger):
    """Fires when a step of ``reclock.airflow.steps`` has ended in the warm process, with its
    ``outcome``, or when that process is ``gone``. What the step tells is in the task's log."""

    def __init__(
        self,
        key: str,
        printed_lines: int,
        warm_conn_id: str,
        poll_interval: float = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.key = key
        self.printed_lines = printed_lines
        self.warm_conn_id = warm_conn_id
        self.poll_interval = poll_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "key": self.key,
                "printed_lines": self.printed_lines,
                "warm_conn_id": self.warm_conn_id,
                "poll_interval": self.poll_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from reclock.airflow.warm import WarmProcess, WarmProcessGone, WarmProcessRefuses

        process = WarmProcess.of(await BaseHook.aget_connection(self.warm_conn_id))
        printed = self.printed_lines
        while True:
            try:
                lines, outcome = await asyncio.to_thread(
                    process.look, self.key, after=printed, wait_s=0
                )
            except (WarmProcessGone, WarmProcessRefuses) as gone:
                yield TriggerEvent({"gone": str(gone)})
                return
            for line in lines:
                self.log.info("%s", line)
            printed += len(lines)
            if outcome is not None:
                yield TriggerEvent({"outcome": outcome})
                return
            await asyncio.sleep(self.poll_interval)


class _StoringTrigger(BaseEventTrigger):
    """A trigger for an asset, with one value in Airflow's asset state store, from which a triggerer
    that is started again continues. Without a store, or with those of several assets, the value is
    lost with the triggerer."""

    asset_state_store: Any

    @property
    @abstractmethod
    def _key(self) -> str:
        """Of its value among the states of the asset, which other triggers may watch too."""

    async def _stored(self) -> object:
        """The stored value, or None."""
        if self.asset_state_store is None:
            return None
        try:
            return await self.asset_state_store.aget(self._key)
        except ValueError:  # it watches several assets: none of their stores is its own
            self.asset_state_store = None
            return None

    async def _store(self, value: object) -> bool:
        """Whether it is stored now."""
        if self.asset_state_store is None:
            return False
        try:
            await self.asset_state_store.aset(self._key, value)
        except Exception as error:  # Airflow's API may answer the next time
            self.log.warning("the state %s cannot be stored: %s", value, error)
            return False
        return True


class ReclockPublishedTrigger(_StoringTrigger):
    """Fires each time that new rows of one of the relations, or deletions, are published.

    An event says at which ``time`` all of the relations can be read with them, and how many
    ``changes`` each had since the event before. For an ``AssetWatcher``: a DAG that has the asset
    as its schedule then starts.

    Airflow's asset state store keeps the time of the newest event, so a triggerer that is started
    again continues there; it may repeat the last event. A trigger without a stored time begins with
    what is published when it starts.
    """

    def __init__(
        self,
        *,
        relations: str | list[str],
        reclock_conn_id: str = DEFAULT_CONNECTION,
        poke_interval: float = 15,
    ) -> None:
        super().__init__()
        self.relations = names_of(relations)
        self.reclock_conn_id = reclock_conn_id
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "relations": self.relations,
                "reclock_conn_id": self.reclock_conn_id,
                "poke_interval": self.poke_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from reclock.errors import ReclockError

        hook = await open_hook(self.reclock_conn_id)
        stored = watched = await self._stored_time()
        while True:
            try:
                time, changes = await asyncio.to_thread(self._changes, hook, watched)
            except ReclockError as error:  # the relations may be created, or readable, later
                self.log.warning("the check failed and is repeated: %s", full_message(error))
                watched = watched if is_transient(error) else None
            else:
                if watched is None:
                    self.log.info("watching from %d on", time)
                watched = time
                if changes:
                    yield TriggerEvent({"time": time, "changes": changes})
            await asyncio.sleep(self.poke_interval)
            # Airflow stores the event meanwhile: the time goes after it, so that no event is lost.
            if watched is not None and watched != stored and await self._store(watched):
                stored = watched

    @property
    def _key(self) -> str:
        return f"reclock_published_{_digest([self.reclock_conn_id, self.relations])}"

    async def _stored_time(self) -> int | None:
        time = await self._stored()
        if not isinstance(time, int):
            return None
        self.log.info("watching again from %d on", time)
        return time

    def _changes(self, hook: ReclockHook, after: int | None) -> tuple[int, dict[str, int]]:
        """See ``changes_since``."""
        from reclock.airflow.conditions import changes_since

        with hook.get_client() as client:
            return changes_since(client, self.relations, after)


class ReclockUpstreamTrigger(_StoringTrigger):
    """Fires when an upstream of one of the ``sources`` (of all sources, if None) has something new
    that is not ingested. For an ``AssetWatcher``: a DAG that has the asset as its schedule then
    starts, and ticks.

    Every ``poke_interval`` seconds the upstreams are probed as by a tick, which claims nothing and
    takes no time: by the warm process that the connection ``warm_conn_id`` names, if it is given,
    otherwise in a thread of the triggerer, for which ``reclock_conn_id`` must have a home. An event
    has the full names of the ``sources`` with news.

    Each piece of news is part of at least one event, unless a tick ingests it before a poll. The
    same news is no event again, however long the tick that it started is still to run: a source is
    in another event once its upstream has more, once a part was ingested and the rest is still
    there, or, where a tick has left an unfinished step, once for that step and after each decision
    about it. So a tick that fails must be retried by its own task. Reads move the upper of an idle
    source without an event. While a process works on a source, the source has no event.

    Airflow's asset state store keeps what was reported, so a triggerer that is started again
    continues there; it may repeat the last event. Without a stored state it begins with everything
    that is not ingested.
    """

    def __init__(
        self,
        *,
        sources: str | list[str] | None = None,
        reclock_conn_id: str = DEFAULT_CONNECTION,
        warm_conn_id: str | None = None,
        poke_interval: float = 15,
    ) -> None:
        super().__init__()
        self.sources = None if sources is None else names_of(sources)
        self.reclock_conn_id = reclock_conn_id
        self.warm_conn_id = warm_conn_id
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "sources": self.sources,
                "reclock_conn_id": self.reclock_conn_id,
                "warm_conn_id": self.warm_conn_id,
                "poke_interval": self.poke_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        reader = await self._open_reader()
        stored = reported = await self._stored_fingerprints()
        failures: Sequence[str] = ()
        try:
            while True:
                try:
                    news = await asyncio.to_thread(reader.read, self.sources)
                except NewsUnknown as unknown:
                    self.log.warning("the probe failed and is repeated: %s", unknown)
                else:
                    for failure in news.failures:
                        if failure not in failures:
                            self.log.warning("%s", failure)
                    failures = news.failures
                    fresh = news.fingerprints.items() - reported.items()
                    reported = reported | dict(news.fingerprints)
                    if fresh:
                        yield TriggerEvent({"sources": sorted(name for name, _ in fresh)})
                await asyncio.sleep(self.poke_interval)
                # Airflow stores the event meanwhile: its state goes after it, so that none is lost.
                if reported != stored and await self._store(reported):
                    stored = reported
        finally:
            await asyncio.to_thread(reader.close)

    async def _open_reader(self) -> NewsReader:
        if self.warm_conn_id is None:
            return EmbeddedNewsReader(await open_hook(self.reclock_conn_id))
        from reclock.airflow.warm import WarmProcess

        process = WarmProcess.of(await BaseHook.aget_connection(self.warm_conn_id))
        return WarmNewsReader(process, self._key)

    @property
    def _key(self) -> str:
        environment = self.warm_conn_id or self.reclock_conn_id
        return f"reclock_upstream_{_digest([environment, self.sources])}"

    async def _stored_fingerprints(self) -> dict[str, str]:
        reported = await self._stored()
        if not isinstance(reported, dict):
            return {}
        self.log.info("watching again; sources reported before: %d", len(reported))
        return reported


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


async def open_hook(reclock_conn_id: str) -> ReclockHook:
    """A hook that has its connection already, so that threads may use it."""
    hooks = await asyncio.to_thread(import_module, "reclock.airflow.hooks")  # takes a second
    connection = await hooks.ReclockHook.aget_connection(reclock_conn_id)
    hook: ReclockHook = hooks.ReclockHook(reclock_conn_id, connection=connection)
    return hook


def is_transient(error: ReclockError) -> bool:
    """Whether the same question may be answered later."""
    return error.sqlstate.startswith(_TRANSIENT_SQLSTATES)

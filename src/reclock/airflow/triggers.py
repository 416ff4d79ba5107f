"""Triggers: what the triggerer runs for tasks that wait and for watched assets."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.hook import BaseHook
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, TriggerEvent

from reclock.airflow.arguments import DEFAULT_CONNECTION, names_of

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


class ReclockPublishedTrigger(BaseEventTrigger):
    """Fires each time that new rows of one of the relations, or deletions, are published.

    An event says at which ``time`` all of the relations can be read with them, and how many
    ``changes`` each had since the event before. For an ``AssetWatcher``: a DAG that has the asset
    as its schedule then starts.

    Airflow's asset state store keeps the time of the newest event, so a triggerer that is started
    again continues there; it may repeat the last event. A trigger without a stored time begins with
    what is published when it starts.
    """

    asset_state_store: Any

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
            if watched is not None and watched != stored and await self._store_time(watched):
                stored = watched

    @property
    def _key(self) -> str:
        """Of its time among the states of the asset, which other triggers may watch too."""
        watched = json.dumps([self.reclock_conn_id, self.relations])
        return f"reclock_published_{hashlib.sha256(watched.encode()).hexdigest()[:16]}"

    async def _stored_time(self) -> int | None:
        if self.asset_state_store is None:
            return None
        try:
            time = await self.asset_state_store.aget(self._key)
        except ValueError:  # it watches several assets: none of their stores is its own
            self.asset_state_store = None
            return None
        if not isinstance(time, int):
            return None
        self.log.info("watching again from %d on", time)
        return time

    async def _store_time(self, time: int) -> bool:
        """Whether it is stored now."""
        if self.asset_state_store is None:
            return False
        try:
            await self.asset_state_store.aset(self._key, time)
        except Exception as error:  # Airflow's API may answer the next time
            self.log.warning("the time %d cannot be stored: %s", time, error)
            return False
        return True

    def _changes(self, hook: ReclockHook, after: int | None) -> tuple[int, dict[str, int]]:
        """See ``changes_since``."""
        from reclock.airflow.conditions import changes_since

        with hook.get_client() as client:
            return changes_since(client, self.relations, after)


async def open_hook(reclock_conn_id: str) -> ReclockHook:
    """A hook that has its connection already, so that threads may use it."""
    hooks = await asyncio.to_thread(import_module, "reclock.airflow.hooks")  # takes a second
    connection = await hooks.ReclockHook.aget_connection(reclock_conn_id)
    hook: ReclockHook = hooks.ReclockHook(reclock_conn_id, connection=connection)
    return hook


def is_transient(error: ReclockError) -> bool:
    """Whether the same question may be answered later."""
    return error.sqlstate.startswith(_TRANSIENT_SQLSTATES)


def full_message(error: ReclockError) -> str:
    """The message of a ``ReclockError`` with its detail and hint."""
    parts = (error.message, error.detail, error.hint and f"hint: {error.hint}")
    return "; ".join(filter(None, parts))

"""Runs ``ReclockUpstreamTrigger`` in an event loop as a triggerer does, over the sources a and b of
a home, and prints the events of each phase. The argument has the home and the trigger's
arguments."""

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any


class Store:
    """An asset's state store."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    async def aget(self, key: str) -> Any:
        return self.values.get(key)

    async def aset(self, key: str, value: Any) -> None:
        self.values[key] = value


class Watch:
    """A trigger that runs, with its events so far, and the threads in which it has probed."""

    def __init__(self, arguments: dict[str, Any], store: Store | None) -> None:
        from reclock.airflow.triggers import ReclockUpstreamTrigger

        path, arguments = ReclockUpstreamTrigger(poke_interval=0.1, **arguments).serialize()
        assert path == "reclock.airflow.triggers.ReclockUpstreamTrigger"
        self._trigger: Any = ReclockUpstreamTrigger(**arguments)
        self._trigger.asset_state_store = store
        self.events: list[Any] = []
        self.threads: list[str] = []
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        open_reader = self._trigger._open_reader

        async def open_recorded() -> Any:
            reader = await open_reader()
            read = reader.read

            def recorded(sources: Any) -> Any:
                news = read(sources)
                self.threads.append(threading.current_thread().name)
                return news

            reader.read = recorded
            return reader

        self._trigger._open_reader = open_recorded
        async for event in self._trigger.run():
            self.events.append(event.payload["sources"])

    async def polls(self, count: int) -> list[Any]:
        """The events after that many more polls."""
        until = len(self.threads) + count
        while len(self.threads) < until:
            if self._task.done():
                self._task.result()
            await asyncio.sleep(0.02)
        return list(self.events)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def main(home: str, arguments: dict[str, Any]) -> dict[str, Any]:
    import reclock

    def append(bucket: str, text: str) -> None:
        with (Path(home) / "buckets" / bucket / "o.csv").open("a") as file:
            file.write(text)

    def tick() -> None:
        with reclock.connect(home) as client:
            assert client.tick().succeeded

    phases: dict[str, Any] = {}
    store = Store()
    watch = Watch(arguments, store)
    phases["nothing is new"] = await watch.polls(2)
    append("a", "v\n1\n")
    phases["a has rows, for many polls"] = await watch.polls(4)
    await asyncio.to_thread(tick)
    phases["they are ingested"] = await watch.polls(3)
    append("a", "2\n")
    append("b", "v\n1\n")
    phases["both have rows"] = await watch.polls(4)
    await watch.stop()
    threads = set(watch.threads)
    watch = Watch(arguments, store)
    phases["the triggerer is another"] = await watch.polls(3)
    append("a", "3\n")
    phases["a has more"] = await watch.polls(3)
    await watch.stop()
    watch = Watch(arguments, None)
    phases["nothing is stored"] = await watch.polls(3)
    await watch.stop()
    threads |= set(watch.threads)
    return {
        "phases": phases,
        "stored": [sorted(value) for value in store.values.values()],
        "blocks": threading.main_thread().name in threads,
    }


if __name__ == "__main__":
    print("\n" + json.dumps(asyncio.run(main(**json.loads(sys.argv[1])))))

"""What a trigger that waits for news of upstreams learns when nobody can say: the reason, and the
news once somebody can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.ports import free_port
from fixtures.server import SqlServer

import reclock
from reclock.airflow.news import EmbeddedNewsReader, NewsUnknown, WarmNewsReader
from reclock.airflow.warm import WarmProcess
from reclock.client.client import Client
from reclock.runtime.environment import Environment


class Hook:
    """In place of a ``ReclockHook``, whose import is that of Airflow."""

    def __init__(self, *connections: Callable[[], Client]) -> None:
        self._connections: Iterator[Callable[[], Client]] = iter(connections)

    def get_client(self) -> Client:
        return next(self._connections)()


def reader_of(*connections: Callable[[], Client]) -> EmbeddedNewsReader:
    hook: Any = Hook(*connections)
    return EmbeddedNewsReader(hook)


def test_an_environment_is_opened_once_and_again_after_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"

    def connect() -> Client:
        return reclock.connect(home)

    reader = reader_of(connect, connect)
    with pytest.raises(NewsUnknown, match="is not initialized"):
        reader.read(None)
    Environment.initialise(home).close()
    for _ in range(2):  # a third connection would be an error
        assert reader.read(None).fingerprints == {}
    with pytest.raises(NewsUnknown, match='"nowhere" does not exist'):
        reader.read(["nowhere"])
    reader.close()


def test_a_client_of_a_server_cannot_probe(sql_server: SqlServer) -> None:
    url = f"postgresql://reclock@127.0.0.1:{sql_server.port}/reclock"
    reader = reader_of(lambda: reclock.connect(url))
    with pytest.raises(NewsUnknown, match="cannot probe sources; hint: use a connection with"):
        reader.read(None)
    reader.close()


def test_a_warm_process_that_is_gone_is_the_reason() -> None:
    reader = WarmNewsReader(WarmProcess(f"http://127.0.0.1:{free_port()}"), "key")
    with pytest.raises(NewsUnknown, match="refused"):
        reader.read(None)
    reader.close()

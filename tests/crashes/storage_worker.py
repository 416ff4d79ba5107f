"""What is done to all that storage keeps, in the midst of which a process is killed. Each is given
where that is."""

from __future__ import annotations

import time
from pathlib import Path

from fixtures.lakes import DESC, FLIGHTS, put, update
from fixtures.tables import C, open_tables
from fixtures.tables import write as write_tables

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.collections import compaction, tables
from reclock.collections.lake import Lake
from reclock.runtime.environment import Environment


def append(root: str) -> None:
    put(Lake(root).open(FLIGHTS), update("b", 1, 5), to=10)


def create(root: str) -> None:
    Lake(root).create(FLIGHTS, DESC)


def drop(root: str) -> None:
    Lake(root).drop(FLIGHTS)


def compact(root: str) -> None:
    compaction.compact(Lake(root).open(FLIGHTS), Timestamp(3))


def write(url: str, root: str, is_staged: bool, is_applied: bool = False) -> None:
    opened, _, _ = open_tables(url, root)
    if is_staged:
        tables.STAGED_FROM_BYTES = 0
    write_tables(opened, a={("x", 2): 1, ("x", 1): -1}, b={("y", 1): 1})
    if is_applied:
        opened.apply()


def create_table(url: str, root: str) -> None:
    open_tables(url, root)[0].create(GlobalId("u9"), DESC, at=Timestamp(5))


def lead(home: Path) -> None:
    with Environment.open(home) as environment:
        environment.control_plane.storage_controller.step()


def drop_table(url: str, root: str) -> None:
    open_tables(url, root)[0].drop(C)


def lead_cluster(home: Path, cluster: str) -> None:
    """Leads the cluster's compute controller for as long as the process lives."""
    with Environment.open(home) as environment:
        [id] = [
            found.id
            for found in environment.stores.catalog.sync().clusters.values()
            if found.name == cluster
        ]
        while True:
            environment.control_plane.managed_controller(id).step(stays=True)
            time.sleep(0.02)


def execute(home: Path, text: str) -> None:
    with Environment.open(home) as environment:
        list(Session(environment).execute(text))

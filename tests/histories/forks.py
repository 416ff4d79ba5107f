"""Processes that are forked from one which has imported everything: they begin within milliseconds."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any
from unittest import mock

HOUR_MS = 3_600_000

_IMPORTED = ["histories.server_process", "histories.oracle_process", "pandas", "pyarrow.dataset", "sqlalchemy.dialects.postgresql"]

_CONTEXT = multiprocessing.get_context("forkserver")


def fork(work: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A process that does ``work(*arguments, connection)``, and the other end of its connection, to be read."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}):
        _CONTEXT.set_forkserver_preload(_IMPORTED)
        forkserver.ensure_running()
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=work, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def shared_number() -> Any:
    """A number (``value``) that this process and those it is given to see alike; 0 at first."""
    return _CONTEXT.RawValue("q", 0)

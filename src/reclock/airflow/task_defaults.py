"""How the tasks of Reclock's DAGs are retried, timed out, pooled and owned: by variables of the
environment.

They are read when a DAG file is parsed. Durations are in seconds.
"""

from __future__ import annotations

import os
from datetime import timedelta
from importlib import import_module
from typing import Any


def task_defaults() -> dict[str, Any]:
    """The ``default_args`` of a DAG, from ``RECLOCK_DAG_OWNER``, ``_POOL``, ``_RETRIES``,
    ``_RETRY_DELAY``, ``_TASK_TIMEOUT`` and ``_ON_FAILURE``.

    Retries back off exponentially, to ten minutes. ``RECLOCK_DAG_ON_FAILURE`` names a function as
    ``package.module:function``, which is called with the context of each task that has failed for
    good.
    """
    defaults: dict[str, Any] = {
        "owner": os.environ.get("RECLOCK_DAG_OWNER", "reclock"),
        "pool": os.environ.get("RECLOCK_DAG_POOL", "default_pool"),
        "retries": int(os.environ.get("RECLOCK_DAG_RETRIES", "2")),
        "retry_delay": _seconds("RECLOCK_DAG_RETRY_DELAY", 10),
        "retry_exponential_backoff": 2.0,
        "max_retry_delay": timedelta(minutes=10),
        "execution_timeout": _seconds("RECLOCK_DAG_TASK_TIMEOUT", 6 * 3600),
    }
    if name := os.environ.get("RECLOCK_DAG_ON_FAILURE"):
        module, _, function = name.partition(":")
        defaults["on_failure_callback"] = getattr(import_module(module), function)
    return defaults


def run_timeout() -> timedelta:
    """After which a run fails, so that a hanging one does not keep later ones from starting:
    ``RECLOCK_DAG_RUN_TIMEOUT``."""
    return _seconds("RECLOCK_DAG_RUN_TIMEOUT", 12 * 3600)


def _seconds(variable: str, default: int) -> timedelta:
    return timedelta(seconds=float(os.environ.get(variable, default)))

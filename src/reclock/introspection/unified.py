"""The reports of replicas and processes, as relations: the third part of unified
introspection.

``…_unified`` and its like are collections, readable whatever becomes of those who reported; a log
is read from one replica, at once.
"""

from __future__ import annotations

from functools import partial

from reclock.introspection.relation import Builtin, Rows, SystemState
from reclock.introspection.types import LOGS, MANAGED
from reclock.protocol.introspection import LogName


def _log(name: LogName, state: SystemState) -> Rows:
    return state.log(name)


UNIFIED = (
    *(Builtin("mz_internal", log.value, desc, partial(_log, log)) for log, desc in LOGS.items()),
    *(
        Builtin("mz_internal", name.value, managed.desc, managed=name)
        for name, managed in MANAGED.items()
    ),
)

"""Functions with side effects, called for each row of a result as it is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.context.results import Result
from reclock.adapter.context.users import Users
from reclock.adapter.context.variables import ROLE, SessionVariables
from reclock.adapter.statement_context import StatementContext
from reclock.catalog.roles import is_superuser, memberships
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.compute.engines.engine import result_schema
from reclock.consensus.database.waiting import CHECK_INTERVAL_S
from reclock.consensus.processes.advisory_locks import AdvisoryLock
from reclock.errors import PermissionDenied, SqlWarning, UnsupportedSql
from reclock.introspection.backends import Backends
from reclock.sql.statements.query.values import Effect

CallFunction = Callable[[str, Sequence[str]], str | bool | int]
"""Calls the function of that name with these arguments, none of which is NULL."""


def with_effects(result: Result, effects: Sequence[Effect], call: CallFunction) -> Result:
    """The rows, with the results of the functions in the place of their arguments."""
    return replace(result, batches=_with_answers(result, effects, call)) if effects else result


def _with_answers(
    result: Result, effects: Sequence[Effect], call: CallFunction
) -> Iterator[pa.RecordBatch]:
    assert result.desc is not None
    schema = result_schema(result.desc.columns)
    with closing(result):
        for batch in result.batches:
            columns = list(batch.columns)
            for effect in effects:
                rows = columns[effect.index].to_pylist()
                answers = [
                    None if row is None or None in row else call(effect.function, row)
                    for row in rows
                ]
                columns[effect.index] = pa.array(answers, schema.field(effect.index).type)
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def signal(
    function: str,
    process_id: str,
    backends: Backends,
    users: Users,
    snapshot: CatalogSnapshot,
    notice: Callable[[str], None],
) -> bool:
    """Cancel the statement of the session with that process id, or end the session; returns whether
    it existed.

    Raises ``PermissionDenied``, and ``WorkerUnresponsive`` if the worker that has the session
    cannot be told.
    """
    backend = backends.get(int(process_id))
    if backend is None:
        notice(f"PID {process_id} is not a PostgreSQL backend process")
        return False
    is_own_backend = backend.role_id in memberships(
        snapshot, users.current_id
    ) and not is_superuser(snapshot, backend.role_id)
    if not is_own_backend and not is_superuser(snapshot, users.current_id):
        verb = "cancel query of" if function == "pg_cancel_backend" else "terminate"
        raise PermissionDenied(
            f"permission denied to {verb} process",
            detail="only roles with the privileges of its role, and superusers, may",
        )
    (backend.cancel if function == "pg_cancel_backend" else backend.terminate)()
    return True


def set_config(
    variables: SessionVariables, name: str, value: str, is_local: str, *, in_block: bool
) -> str:
    """Set a variable and return its new value. Raises ``UnknownObject``, ``InvalidOption``."""
    if name.lower() == ROLE:
        raise UnsupportedSql("set_config of a role is not supported", hint="use SET ROLE")
    before = variables.mark()
    variables.set(name, value, is_local=is_local == "true")
    new_value = variables.get(name)
    if is_local == "true" and not in_block:  # the transaction ends with the statement
        variables.rewind(before)
    return new_value


def sleep(seconds: float, cancellation: Cancellation) -> str:
    """``pg_sleep``. Raises as ``Cancellation.check``."""
    end_s = time.monotonic() + seconds
    while (left_s := end_s - time.monotonic()) > 0:
        cancellation.pause(min(left_s, CHECK_INTERVAL_S), "pg_sleep")
    return ""


def call_advisory_lock(
    function: str, arguments: Sequence[str], context: StatementContext
) -> str | bool:
    """The answer of one of PostgreSQL's functions of advisory locks. Raises ``LockTimeout``."""
    locks, is_shared = context.advisory_locks, function.endswith("_shared")
    if function == "pg_advisory_unlock_all":
        locks.release_all()
        return ""
    lock = AdvisoryLock(", ".join(arguments), is_shared)
    if function.startswith("pg_advisory_unlock"):
        if locks.release(lock):
            return True
        mode = "ShareLock" if is_shared else "ExclusiveLock"
        context.notice(SqlWarning(f"you don't own a lock of type {mode}", "01000"))
        return False
    of_transaction, answer = "_xact_" in function, True
    if function.startswith("pg_try_"):
        answer = locks.try_acquire(lock, of_transaction=of_transaction)
    else:
        locks.acquire(
            lock,
            context.cancellation,
            of_transaction=of_transaction,
            timeout_ms=context.variables.lock_timeout_ms,
        )
    if context.transactions.block is None:
        locks.end_transaction()
    return answer if function.startswith("pg_try_") else ""

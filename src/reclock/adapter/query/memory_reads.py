"""Lookups that are answered at once: their rows are in the memory of this process."""

from __future__ import annotations

from reclock.adapter.context.results import Result
from reclock.adapter.context.variable_values import is_strict
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.timestamps.readiness import Unavailable
from reclock.algebra.ids import TABLES
from reclock.algebra.timestamps import MINIMUM
from reclock.clusters.in_process import InProcessReplica
from reclock.controllers.compute import ComputeController
from reclock.errors import NotReadable, VersionGone
from reclock.tracing import span


def read_from_memory(context: StatementContext) -> Result | None:
    """The rows of a lookup in a table, at the read timestamp of the oracle, as ``QueryExecution``
    answers them. None if it must execute the statement: it may have to wait, read files, take a
    read hold, ask another process, or see the writes of its transaction.

    The rows are at a time at which this process knows the tables to be complete. They come from a
    version and arrangements that never change, so nothing has to be held.
    """
    lookup, at, environment = context.planned.lookup, context.read_ts, context.environment
    if (
        lookup is None
        or at is None
        or environment.stores.published_uppers.get(TABLES, MINIMUM) <= at
        or not is_strict(context.variables.get("transaction_isolation"))
    ):
        return None
    context.await_storage()
    cluster = context.variables.get("cluster")
    controller = environment.control_plane.compute_controller(context.active_cluster())
    if not isinstance(controller, ComputeController):
        return None
    controller.await_frontier(context.catalog_ts, context.cancellation.pause)
    replica = controller.target(context.variables.get("cluster_replica"))
    if not isinstance(replica, InProcessReplica):
        return None
    try:
        with span("peek", cluster=cluster, at=at):
            rows = replica.look_up(lookup.rows, context.catalog_ts, at)
    except (NotReadable, VersionGone, *Unavailable):  # the execution of the statement handles it
        return None
    limit_bytes = context.variables.max_result_bytes
    if rows is None or 0 < limit_bytes < rows.get_total_buffer_size():  # their own size, or more
        return None
    context.cancellation.check()
    return Result(lookup.select.tag, lookup.select.desc, iter(rows.to_batches()), at=at)

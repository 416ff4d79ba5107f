"""The compute controller and its replica: what is maintained follows the catalog, and peeks are
refused or cancelled by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from fixtures.scripted_replicas import ScriptedReplica
from fixtures.sessions import sql

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.controllers.compute import ComputeController
from reclock.controllers.controller import patiently
from reclock.errors import QueryCanceled, ReplicaBehind, StatementTimeout, UnknownCollection
from reclock.pipeline import tick
from reclock.plan.relational import Finishing, Get
from reclock.protocol.compute import CancelPeek, ComputeCommand, Dataflow, Peek
from reclock.runtime.environment import Environment
from reclock.sql.names import SessionNames
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.query.values import Select
from reclock.sql.syntax.parse import parse

CLUSTER = 1


def peek_of(environment: Environment, name: str) -> Peek:
    catalog = environment.stores.planner_catalog()
    entry = next(entry for entry in catalog.relations() if entry.name.item == name)
    at = Timestamp(environment.stores.frontiers.get("tables").upper - 1)
    return Peek(
        "p1",
        catalog.snapshot.content_upper,
        at,
        Get(entry.collection, name, entry.desc),
        Finishing(),
    )


def test_the_catalog_decides_what_is_maintained(environment: Environment) -> None:
    controller: Any = environment.control_plane.compute_controller(CLUSTER)
    sql(
        environment,
        (
            "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM "
            "t; INSERT INTO t VALUES (1), (2)"
        ),
    )
    assert [dataflow.name for dataflow in controller.dataflows()] == [
        "reclock.public.v_primary_idx"
    ]
    assert [index.index for index in tick.run(environment, owner="tick").refreshed[0].indexes] == [
        "reclock.public.v_primary_idx"
    ]
    sql(environment, "DROP VIEW v")
    assert controller.dataflows() == []
    assert tick.run(environment, owner="tick").refreshed[0].indexes == ()


def test_a_controller_that_begins_goes_on_from_what_the_replica_runs(
    environment: Environment,
) -> None:
    first: Any = environment.control_plane.compute_controller(CLUSTER)
    sql(
        environment,
        "CREATE TABLE t (a int); CREATE INDEX kept ON t (a); CREATE INDEX gone ON t (a)",
    )
    assert len(first.dataflows()) == 2
    sql(environment, "DROP INDEX gone; CREATE INDEX new ON t (a)")
    commands = []
    carry_out = first.replica.carry_out

    class Watched(ScriptedReplica):
        def running(self) -> Mapping[GlobalId, Dataflow]:
            running: Mapping[GlobalId, Dataflow] = first.replica.running()
            return running

        def carry_out(self, command: ComputeCommand) -> None:
            commands.append(type(command).__name__)
            carry_out(command)

    ComputeController(environment.stores.planner_catalog, CLUSTER, Watched()).step()
    assert commands == ["DropDataflow", "CreateDataflow", "AdvanceCatalogFrontier"]
    assert sorted(flow.name.rpartition(".")[2] for flow in first.replica.running().values()) == [
        "kept",
        "new",
    ]


def test_a_peek_of_an_index_that_is_gone_is_refused(environment: Environment) -> None:
    sql(environment, "CREATE TABLE t (a int); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1)")
    controller: Any = environment.control_plane.compute_controller(CLUSTER)
    [index] = controller.dataflows()
    peek = replace(peek_of(environment, "t"), dataflows=frozenset({index.id}))
    assert sum(batch.num_rows for batch in controller.peek(peek).batches) == 1
    sql(environment, "DROP INDEX i")
    controller.step()
    with pytest.raises(UnknownCollection):
        controller.peek(peek)


def test_a_peek_before_its_time_in_the_catalog_is_not_answered(environment: Environment) -> None:
    sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    controller: Any = environment.control_plane.compute_controller(CLUSTER)
    early = replace(peek_of(environment, "t"), catalog_ts=MAXIMUM)
    with pytest.raises(ReplicaBehind):
        controller.replica.peek(early)
    with pytest.raises(StatementTimeout):
        controller.peek(early, patiently(0.05))


def test_a_peek_is_cancelled_by_its_id_and_only_while_it_runs(environment: Environment) -> None:
    sql(
        environment,
        "CREATE TABLE t (a int); INSERT INTO t VALUES "
        + ", ".join(f"({number})" for number in range(2_000)),
    )
    controller: Any = environment.control_plane.compute_controller(CLUSTER)
    catalog = environment.stores.planner_catalog()
    statement = plan_statement(parse("SELECT x.a FROM t x, t y, t z")[0], catalog, SessionNames())
    peek = replace(peek_of(environment, "t"), plan=cast(Select, statement).plan)
    controller.step()
    controller.cancel(CancelPeek(peek.id))
    batches = controller.peek(peek).batches
    next(batches)
    controller.cancel(CancelPeek("another"))
    next(batches)
    controller.cancel(CancelPeek(peek.id))
    with pytest.raises(QueryCanceled):
        list(batches)
    controller.cancel(CancelPeek(peek.id))

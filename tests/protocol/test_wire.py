"""All that is said to replicas comes out of the wire as it went in."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from fixtures.corpus import CORPUS
from fixtures.planning import new_york

from reclock import errors
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.intervals import Interval
from reclock.algebra.relations import BIGINT, DOUBLE, TEXT, Column, RelationDesc, array
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.connections import Connection, SecretReference
from reclock.definitions.sinks import (
    Avro,
    DeltaTarget,
    Envelope,
    FilesTarget,
    Json,
    KafkaTarget,
    Plain,
    PostgresTarget,
    SinkInput,
    SinkSpec,
    TableRegistration,
    Target,
)
from reclock.errors import InternalError, NotReadable, QueryCanceled, UnknownCollection
from reclock.plan import relational as plans
from reclock.plan import scalars
from reclock.plan.relational import (
    Constant,
    Except,
    Filter,
    Get,
    Intersect,
    Ordering,
    Plan,
    Union,
    inputs,
)
from reclock.protocol import wire
from reclock.protocol.compute import (
    CancelPeek,
    ComputeCommand,
    CreateDataflow,
    Dataflow,
    DropDataflow,
    Emit,
    Emitted,
    Peek,
    Refresh,
    Refreshed,
)
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.introspection import (
    CancelSubscribe,
    LogChanges,
    LogFailed,
    LogName,
    Row,
    Subscribe,
)
from reclock.sql.queries.views import expand

DESC = RelationDesc((Column("a", BIGINT, False), Column("b", array(TEXT))), key=("a",))
GET = Get(StorageCollectionId(GlobalId("u4"), CollectionType.RECLOCKED, "bids"), "bids", DESC)


def decoded(plan: plans.Plan) -> plans.Plan:
    """What a replica reads."""
    result: plans.Plan = wire.decode(wire.encode(plan, Plan), Plan)  # type: ignore[arg-type]
    return result


def planned() -> list[plans.Plan]:
    """The plans of all queries that the planner is tested with, and what those do not use."""
    world = new_york()
    blocks = (Path(__file__).parents[1] / "sql" / "plans.txt").read_text().split("\n\n")
    selects = [world.select(block.split("\n----\n")[0]) for block in blocks]
    flat = plans.FlatMap(GET, (scalars.Literal((), array(TEXT)),), DESC)
    counted = plans.Window(flat, (0,), (Ordering(1),), plans.WindowFunction("lag", 1, 2, 0), DESC)
    framed = [
        plans.Window(
            flat, (0,), (Ordering(1),), plans.WindowFunction("nth_value", 1, 2), DESC, frame
        )
        for frame in (
            plans.Frame(Decimal("-1.50"), 0.5, excludes="TIES"),
            plans.Frame(-Interval(1, 2, 3), Interval(0, 1, 0)),
            plans.Frame(-1, 2, is_range=False),
        )
    ]
    values: list[plans.Plan] = [
        counted,
        *framed,
        plans.Arrangement(GET),
        Union((Except(GET, GET), Intersect(GET, GET), Constant(((1, ("x", None)),), DESC)), DESC),
    ]
    return [*(expand(select.plan, world.catalog) for select in selects), *values]


PLANS = planned()


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for input in inputs(plan):
        yield from nodes(input)


def test_plans_with_every_operator() -> None:
    assert {type(node) for plan in PLANS for node in nodes(plan)} == set(get_args(plans.Plan))
    for plan in PLANS:
        command = CreateDataflow(Dataflow(GlobalId("u9"), "v", plan, plan.desc))
        assert wire.decode_command(wire.encode_command(command)) == command


def test_every_scalar() -> None:
    used = [*CORPUS.values(), scalars.Parameter(1, TEXT)]
    for scalar in used:
        plan = Filter(GET, (scalar,))
        assert repr(decoded(plan)) == repr(plan)  # NaN equals nothing
    assert {type(scalar) for scalar in used} >= {
        scalars.Call,
        scalars.Case,
        scalars.Cast,
        scalars.Parameter,
    }


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**63 - 1,
        "ünï",
        b"\x00\xff",
        0.1,
        -0.0,
        math.inf,
        Decimal("1.500"),
        Decimal("NaN"),
        dt.date(9999, 12, 31),
        dt.datetime(2024, 2, 29, 1, 2, 3, 4),
        dt.datetime(2024, 2, 29, tzinfo=dt.UTC),
        Interval(13, -1, 3),
        (1, (None, 2.5)),
    ],
    ids=repr,
)
def test_every_kind_of_constant(value: Any) -> None:
    literal = scalars.Literal(value, DOUBLE)
    plan = decoded(Filter(GET, (literal,)))
    assert isinstance(plan, Filter)
    [found] = plan.predicates
    assert isinstance(found, scalars.Literal)
    assert (repr(found.value), type(found.value)) == (repr(value), type(value))


def test_every_command() -> None:
    commands: list[ComputeCommand] = [
        CreateDataflow(Dataflow(GlobalId("u9"), "v", GET, DESC)),
        DropDataflow(GlobalId("u9")),
        AdvanceCatalogFrontier(Timestamp(7)),
        CancelPeek("p"),
        Subscribe("t1", LogName.FRONTIERS),
        CancelSubscribe("t1"),
    ]
    assert {type(command) for command in commands} >= set(get_args(ComputeCommand))
    for command in commands:
        assert wire.decode_command(wire.encode_command(command)) == command


def test_peeks_and_refreshes() -> None:
    finishing = plans.Finishing((Ordering(1, is_descending=True),), limit=3, offset=1, visible=1)
    rows = {StorageCollectionId(GlobalId("s1")): pa.table({"a": [1, None], "b": ["x", "y"]})}
    peek = Peek(
        "p", Timestamp(3), Timestamp(4), GET, finishing, frozenset({GlobalId("u9")}), rows, rows
    )
    refresh = Refresh((GlobalId("u9"),), Timestamp(4), "tick")
    refreshed = Refreshed("v", Timestamp(5), (Timestamp(4),), 2)
    for value in (peek, refresh, refreshed, Emitted("k", Timestamp(5), 1, 2, 3)):
        assert wire.decode(wire.encode(value), type(value)) == value


def test_an_emission_carries_the_description_of_its_sink() -> None:
    broker = Connection(
        "KAFKA", (("BROKER", "b:9092"), ("SASL PASSWORD", SecretReference("p", "secret-1")))
    )
    registry = Connection("CONFLUENT SCHEMA REGISTRY", (("URL", "http://r"),))
    avro = Avro(registry, "row", has_null_defaults=True)
    kafka = [
        KafkaTarget(broker, "t", "progress", ("a",), envelope, format, key_format, partitions=3)
        for envelope in Envelope
        for format in (Json(), avro)
        for key_format in (Json(), avro, Plain("TEXT"))
    ]
    metastore = Connection("HIVE METASTORE", (("URL", "thrift://h"),))
    registered = DeltaTarget("folder", TableRegistration(metastore, "n"))
    postgres = PostgresTarget(broker, "public", "t", ("a",))
    creator, index, previous = GlobalId("u7"), GlobalId("u8"), SinkInput(GET, (GlobalId("u6"),))
    targets: list[Target] = [
        DeltaTarget("folder"),
        registered,
        FilesTarget("folder", "CSV"),
        postgres,
        *kafka,
    ]
    for target in targets:
        sink = SinkSpec(
            GlobalId("u9"), "k", GET, DESC, target, True, Timestamp(3), creator, (index,), previous
        )
        emit = Emit(sink, Timestamp(4), "tick", Timestamp(2))
        assert wire.decode(wire.encode(emit), Emit) == emit


def test_errors_come_out_as_the_class_they_are() -> None:
    for error in (
        NotReadable("u4", at=1, since=2, upper=3),
        UnknownCollection("u4"),
        QueryCanceled(),
    ):
        found = wire.decode_error(wire.encode_error(error))
        assert type(found) is type(error)
        assert (str(found), found.sqlstate, found.__dict__) == (
            str(error),
            error.sqlstate,
            error.__dict__,
        )
    evaluation = errors.EvaluationError("division by zero", sqlstate="22012", hint="h")
    assert wire.decode_error(wire.encode_error(evaluation)).sqlstate == "22012"


def test_what_is_no_error_of_ours_is_internal() -> None:
    found = wire.decode_error(wire.encode_error(KeyError("x")))
    assert isinstance(found, InternalError)
    assert "KeyError" in found.message


def test_a_message_that_is_none_is_refused() -> None:
    for data in (
        b"",
        b"{",
        b'{"_type": "Popen", "args": ["ls"]}',
        b'{"_type": "DropDataflow", "id": "u1", "more": 1}',
    ):
        with pytest.raises(InternalError):
            wire.decode_command(data)
    assert isinstance(
        wire.decode_error(b'{"class": "SystemExit", "fields": {"message": "x"}}'), InternalError
    )


def test_what_replicas_say_of_themselves() -> None:
    moment = dt.datetime(2026, 11, 21, 12, 30, 0, 123_000, tzinfo=dt.UTC)
    rows: list[Row] = [("u1", 2**62, -0.5, True, None, moment), ("", 0, 1e300, False, "x", moment)]
    assert wire.decode_rows(wire.encode_rows(rows)) == rows
    responses: list[LogChanges | LogFailed] = [
        LogChanges("t1", tuple((row, diff) for row in rows for diff in (1, -2)), 5),
        LogFailed("t2", "gone"),
    ]
    assert wire.decode_responses(wire.encode_responses(responses)) == responses

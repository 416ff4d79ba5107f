"""What the catalog implies, as commands: by statement, and by whole histories in any batching."""

from __future__ import annotations

from fixtures.planning import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import CollectionType, GlobalId
from reclock.controllers.implied import compute_commands, dataflows, incarnations, storage_commands
from reclock.errors import ReclockError
from reclock.protocol.compute import CreateDataflow, DropDataflow
from reclock.protocol.storage import CreateCollections, DropCollections
from reclock.sql.catalog.planner_catalog import PlannerCatalog

S3 = "FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b'"
DEFAULT, OTHER = 1, 2


def test_a_source_has_its_outputs_bindings_and_evidence_in_one_group() -> None:
    world = World()
    world.execute(f"CREATE SOURCE s (a int) {S3} FORMAT CSV")
    [create] = storage_commands({}, world.catalog)
    assert isinstance(create, CreateCollections)
    assert {collection.id.collection for collection in create.collections} == {
        CollectionType.RECLOCKED,
        CollectionType.REMAPPING,
        CollectionType.EVIDENCE,
    }
    assert create.group == create.id
    assert create.upper == create.since + 1


def test_a_view_has_nothing_a_table_its_rows_an_index_its_own_collection_unread_so_far() -> None:
    world = World()
    world.execute(
        "CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; CREATE DEFAULT INDEX "
        "IN CLUSTER other ON v"
    )
    table, index = storage_commands({}, world.catalog)
    assert isinstance(table, CreateCollections)
    assert isinstance(index, CreateCollections)
    assert (table.group, index.group) == ("tables", index.id)
    assert index.since == index.upper
    assert compute_commands({}, world.catalog, DEFAULT) == []
    [create] = compute_commands({}, world.catalog, OTHER)
    assert isinstance(create, CreateDataflow)
    assert create.dataflow.id == index.id


def test_what_is_dropped_goes_and_what_is_newer_than_the_catalog_stays() -> None:
    world = World()
    world.execute("CREATE TABLE t (a int); CREATE DEFAULT INDEX ON t")
    present, running = incarnations(world.catalog), dataflows(world.catalog, DEFAULT)
    world.execute("DROP TABLE t CASCADE")
    assert storage_commands(present | {GlobalId("u999"): ""}, world.catalog) == [
        DropCollections(tuple(sorted(present)))
    ]
    assert compute_commands(running, world.catalog, DEFAULT) == [DropDataflow(id) for id in running]


def test_a_dataflow_whose_input_is_renamed_is_commanded_anew_under_its_id() -> None:
    world = World()
    world.execute("CREATE TABLE t (a int); CREATE INDEX i ON t (a)")
    running = dataflows(world.catalog, DEFAULT)
    world.execute("ALTER TABLE t RENAME TO u")
    [create] = compute_commands(running, world.catalog, DEFAULT)
    assert isinstance(create, CreateDataflow)
    assert create.dataflow.id in running
    assert create.dataflow != running[create.dataflow.id]


# --- the law ---

NAMES = ("a", "b", "c")
CHANGES = st.one_of(
    st.builds("CREATE TABLE {} (x int)".format, st.sampled_from(NAMES)),
    st.builds(f"CREATE SOURCE {{}} (x int) {S3} FORMAT CSV".format, st.sampled_from(NAMES)),
    st.builds("CREATE VIEW v{0} AS SELECT x FROM {0}".format, st.sampled_from(NAMES)),
    st.builds(
        "CREATE INDEX IN CLUSTER {1} ON {0} (x)".format,
        st.sampled_from(NAMES),
        st.sampled_from(["default", "other"]),
    ),
    st.builds("CREATE INDEX ON v{} (x)".format, st.sampled_from(NAMES)),
    st.builds("ALTER TABLE {} RENAME TO {}".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds(
        "DROP {} {} CASCADE".format,
        st.sampled_from(["TABLE", "SOURCE", "VIEW v"]),
        st.sampled_from(NAMES),
    ),
)


def history(statements: list[str]) -> list[PlannerCatalog]:
    """The catalog after each of the statements that can be executed."""
    world, moments = World(), []
    for statement in statements:
        try:
            world.execute(statement.replace("VIEW v ", "VIEW v"))
        except ReclockError:
            continue
        moments.append(world.catalog)
    return moments


def incarnations_of(present: dict[GlobalId, CreateCollections]) -> dict[GlobalId, str]:
    return {id: command.incarnation for id, command in present.items()}


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHANGES, min_size=1, max_size=14), st.data())
def test_any_batching_of_a_history_ends_where_rebuilding_from_its_end_does(
    statements: list[str], data: st.DataObject
) -> None:
    moments = history(statements)
    observed = [moment for moment in moments[:-1] if data.draw(st.booleans())] + moments[-1:]
    present: dict[GlobalId, CreateCollections] = {}
    running: dict[int, dict] = {DEFAULT: {}, OTHER: {}}
    for catalog in observed:
        for command in storage_commands(incarnations_of(present), catalog):
            if isinstance(command, CreateCollections):
                assert command.id not in present
                present[command.id] = command
            else:
                for id in command.ids:
                    del present[id]
        for cluster, flows in running.items():
            for change in compute_commands(flows, catalog, cluster):
                if isinstance(change, CreateDataflow):
                    flows[change.dataflow.id] = change.dataflow
                else:
                    del flows[change.id]
    for end in observed[-1:]:
        rebuilt = [
            command
            for command in storage_commands({}, end)
            if isinstance(command, CreateCollections)
        ]
        assert [present[id] for id in sorted(present, key=lambda id: int(id[1:]))] == rebuilt
        assert running == {cluster: dataflows(end, cluster) for cluster in running}
        assert storage_commands(incarnations_of(present), end) == []

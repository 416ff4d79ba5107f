"""What a transaction checks, and that it is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.acl import AclItem
from reclock.catalog.initial import initial_objects
from reclock.catalog.integrity import check_integrity
from reclock.catalog.objects import (
    AuditEvent,
    Cluster,
    ClusterReplica,
    Comment,
    Config,
    Database,
    DefaultPrivilege,
    IdAllocator,
    Item,
    ItemType,
    Kind,
    Role,
    Schema,
    Setting,
    SkippedRange,
    SourceProgress,
)
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.catalog.transaction import CatalogTransaction
from reclock.errors import (
    CatalogError,
    DependentObjects,
    DuplicateObject,
    ReclockError,
    UnknownObject,
)

AT = Timestamp(100)


@pytest.fixture
def tx() -> CatalogTransaction:
    return CatalogTransaction(CatalogSnapshot.of(initial_objects(), AT))


def view(tx: CatalogTransaction, name: str, schema_id: int = 5) -> Item:
    item = Item(
        tx.allocate_user_id(),
        schema_id,
        name,
        ItemType.VIEW,
        f'CREATE VIEW "{name}" AS SELECT 1',
        "u1",
        Timestamp(1),
    )
    tx.insert(item)
    return item


def committed(tx: CatalogTransaction) -> CatalogSnapshot:
    return tx.base.apply(tx.changes(tx.base.upper), Timestamp(tx.base.upper + 1))


@pytest.mark.parametrize(
    "twice",
    [
        lambda tx: tx.insert(Schema(tx.allocate_schema_id(), 1, "public", "u1")),
        lambda tx: tx.insert(Schema(tx.allocate_schema_id(), None, "pg_catalog", "u1")),
        lambda tx: tx.insert(Cluster(tx.allocate_cluster_id(), "default", None, "u1")),
        lambda tx: tx.insert(Database(tx.allocate("database")[0], "reclock", "u1")),
        lambda tx: tx.insert(Role(tx.allocate_user_role_id(), "mz_system")),
        lambda tx: (view(tx, "v"), view(tx, "v")),
        lambda tx: tx.update(replace(tx.snapshot.schemas[1], name="mz_internal")),
        lambda tx: tx.insert(IdAllocator("user", 7)),
    ],
)
def test_names_are_unique_within_their_kind_and_place(
    tx: CatalogTransaction, twice: Callable[[CatalogTransaction], object]
) -> None:
    with pytest.raises(DuplicateObject):
        twice(tx)


def test_the_same_name_may_be_used_elsewhere_or_again_after_a_drop(tx: CatalogTransaction) -> None:
    tx.insert(Schema(tx.allocate_schema_id(), 1, "pg_catalog", "u1"))
    view(tx, "v", schema_id=1)
    tx.delete(view(tx, "v"))
    created = view(tx, "v")
    assert committed(tx).item_by_name(5, "v") == created


def test_a_name_that_an_update_gave_up_is_free_at_once(tx: CatalogTransaction) -> None:
    old = view(tx, "a")
    tx.update(replace(old, name="b"))
    new = view(tx, "a")
    snapshot = committed(tx)
    assert (snapshot.item_by_name(5, "a"), snapshot.item_by_name(5, "b")) == (
        new,
        replace(old, name="b"),
    )


@pytest.mark.parametrize(
    "dangling",
    [
        lambda tx: view(tx, "v", schema_id=99),
        lambda tx: tx.insert(Schema(tx.allocate_schema_id(), 99, "s", "u1")),
        lambda tx: tx.insert(Database(tx.allocate("database")[0], "d", "u99")),
        lambda tx: tx.insert(ClusterReplica(tx.allocate_cluster_replica_id(), 99, "r1", None)),
        lambda tx: tx.insert(Role(tx.allocate_user_role_id(), "r", membership={"u99": "u1"})),
        lambda tx: tx.insert(DefaultPrivilege("p", None, 99, "table", "u1", "r")),
        lambda tx: tx.insert(Role(tx.allocate_user_role_id(), "r", membership={"u1": "u99"})),
        lambda tx: tx.update(replace(tx.snapshot.clusters[1], owner_role_id="u99")),
        lambda tx: tx.update(
            replace(tx.snapshot.schemas[5], privileges=(AclItem("u99", "U", "u1"),))
        ),
        lambda tx: tx.update(
            replace(tx.snapshot.databases[1], privileges=(AclItem("u1", "U", "u99"),))
        ),
        lambda tx: tx.insert(
            Item(
                tx.allocate_user_id(),
                5,
                "p",
                ItemType.SOURCE_PROGRESS,
                None,
                "u1",
                Timestamp(1),
                SourceProgress(GlobalId("u99"), RelationDesc(())),
            )
        ),
    ],
)
def test_what_an_object_refers_to_must_be_there_when_it_is_committed(
    tx: CatalogTransaction, dangling: Callable[[CatalogTransaction], object]
) -> None:
    dangling(tx)
    with pytest.raises(UnknownObject, match="99"):
        tx.changes()


def test_objects_may_be_made_and_dropped_in_any_order(tx: CatalogTransaction) -> None:
    first, second = tx.allocate("schema", 2)
    item = view(tx, "v", schema_id=first)
    tx.insert(Schema(first, 1, "late", "u1"))
    tx.delete(tx.snapshot.schemas[first])
    tx.update(replace(item, schema_id=second))
    tx.insert(Schema(second, 1, "late", "u1"))
    assert committed(tx).item_by_name(second, "v") is not None


def test_what_others_need_cannot_go(tx: CatalogTransaction) -> None:
    item = view(tx, "v")
    base = committed(tx)
    tx = CatalogTransaction(base)
    tx.delete(base.schemas[5])
    with pytest.raises(DependentObjects) as dependents:
        tx.changes()
    assert dependents.value.dependents == ["v"]
    tx.delete(item)
    after = committed(tx)
    assert 5 not in after.schemas
    assert not after.is_referred_to(Kind.SCHEMA, 5)


def test_what_is_said_about_an_object_goes_with_it(tx: CatalogTransaction) -> None:
    dropped, other = view(tx, "v"), view(tx, "w")
    tx.put_all(SkippedRange(item.id, "a", 0, 4) for item in (dropped, other))
    tx.put(Comment("item", dropped.id, "", "about v"))
    base = committed(tx)
    tx = CatalogTransaction(base)
    tx.delete(dropped)
    after = committed(tx)
    assert after.sorted(Kind.SKIPPED_RANGE) == [SkippedRange(other.id, "a", 0, 4)]
    assert after.sorted(Kind.COMMENT) == []


def test_the_public_pseudo_role_needs_no_object(tx: CatalogTransaction) -> None:
    tx.insert(DefaultPrivilege("p", None, None, "table", "p", "r"))
    check_integrity(committed(tx))


def test_ids_come_from_the_transaction_that_inserts(tx: CatalogTransaction) -> None:
    ids = [tx.allocate_user_id(), tx.allocate_user_id()]
    assert ids == ["u1", "u2"]
    after = CatalogTransaction(committed(tx))
    assert after.allocate_user_id() == "u3"
    for stale in ("u2", "u9", "t1", "x"):
        with pytest.raises(CatalogError):
            after.insert(Item(GlobalId(stale), 5, "v", ItemType.VIEW, "…", "u1", Timestamp(1)))


@pytest.mark.parametrize(
    "forbidden",
    [
        lambda tx: tx.update(IdAllocator("schema", 1)),
        lambda tx: tx.delete(IdAllocator("schema", 6)),
        lambda tx: tx.put(Config("epoch", 1)),
        lambda tx: tx.update(Config("version", 1)),
        lambda tx: tx.delete(Config("version", 2)),
        lambda tx: tx.update(AuditEvent(1, "create", "view", "v", {}, "u1", AT)),
        lambda tx: tx.delete(AuditEvent(1, "create", "view", "v", {}, "u1", AT)),
        lambda tx: tx.update(Setting("none", "such")),
        lambda tx: tx.delete(Setting("none", "such")),
        lambda tx: tx.allocate("nothing"),
    ],
)
def test_a_call_that_fails_changes_nothing(
    tx: CatalogTransaction, forbidden: Callable[[CatalogTransaction], object]
) -> None:
    with pytest.raises(ReclockError):
        forbidden(tx)
    assert tx.changes() == []
    assert tx.snapshot is tx.base


def test_what_ends_as_it_began_is_no_change(tx: CatalogTransaction) -> None:
    public = tx.snapshot.schemas[5]
    tx.update(replace(public, name="other"))
    tx.update(public)
    tx.insert(Setting("a", "1"))
    tx.delete(Setting("a", "1"))
    assert tx.changes() == []


def test_the_snapshot_it_began_on_never_changes(tx: CatalogTransaction) -> None:
    before = CatalogSnapshot.of(initial_objects(), AT)
    view(tx, "v")
    tx.delete(tx.snapshot.clusters[1])
    assert tx.base == before
    assert tx.snapshot.all(Kind.ROLE) is tx.base.all(Kind.ROLE)  # what did not change is shared


# --- against a plain model ---

NAMES = st.sampled_from("abc")
STEP = st.one_of(
    st.tuples(st.just("create schema"), NAMES),
    st.tuples(st.just("drop schema"), NAMES),
    st.tuples(st.just("rename schema"), NAMES, NAMES),
    st.tuples(st.just("create view"), NAMES, NAMES),
    st.tuples(st.just("drop view"), NAMES, NAMES),
    st.tuples(st.just("move view"), NAMES, NAMES, NAMES),
)


def run_on_catalog(tx: CatalogTransaction, step: tuple[str, ...]) -> None:
    def schema(name: str) -> Schema:
        found = tx.snapshot.schema_by_name(1, name)
        if found is None:
            raise UnknownObject("schema", name)
        return found

    def item(in_schema: str, name: str) -> Item:
        found = tx.snapshot.item_by_name(schema(in_schema).id, name)
        if found is None:
            raise UnknownObject("view", name)
        return found

    match step:
        case ("create schema", name):
            tx.insert(Schema(tx.allocate_schema_id(), 1, name, "u1"))
        case ("drop schema", name):
            tx.delete(schema(name))
        case ("rename schema", name, new):
            tx.update(replace(schema(name), name=new))
        case ("create view", in_schema, name):
            view(tx, name, schema(in_schema).id)
        case ("drop view", in_schema, name):
            tx.delete(item(in_schema, name))
        case ("move view", in_schema, name, to):
            tx.update(replace(item(in_schema, name), schema_id=schema(to).id))


def run_on_model(model: dict[str, set[str]], orphans: list[str], step: tuple[str, ...]) -> bool:
    """Whether the step succeeds; then the model has changed."""
    match step:
        case ("create schema", name) if name not in model:
            model[name] = set()
        case ("drop schema", name) if name in model:
            orphans.extend(model.pop(name))
        case ("rename schema", name, new) if name in model and (new == name or new not in model):
            model[new] = model.pop(name)
        case ("create view", in_schema, name) if (
            in_schema in model and name not in model[in_schema]
        ):
            model[in_schema].add(name)
        case ("drop view", in_schema, name) if name in model.get(in_schema, ()):
            model[in_schema].remove(name)
        case ("move view", in_schema, name, to) if (
            name in model.get(in_schema, ())
            and to in model
            and (to == in_schema or name not in model[to])
        ):
            model[in_schema].remove(name)
            model[to].add(name)
        case _:
            return False
    return True


@given(st.lists(st.lists(STEP, max_size=6), max_size=12))
def test_random_transactions_equal_a_plain_model(transactions: list[list[tuple[str, ...]]]) -> None:
    snapshot = CatalogSnapshot.of(
        [t for t in initial_objects() if not isinstance(t, Schema) or t.name != "public"], AT
    )
    model: dict[str, set[str]] = {}
    used: set[str] = set()
    for steps in transactions:
        tx = CatalogTransaction(snapshot)
        tried, orphans = {name: set(views) for name, views in model.items()}, list[str]()
        for step in steps:
            before = tx.snapshot
            if run_on_model(tried, orphans, step):
                run_on_catalog(tx, step)
            else:
                with pytest.raises((DuplicateObject, UnknownObject)):
                    run_on_catalog(tx, step)
                if step[0] != "create schema" and step[0] != "create view":
                    assert tx.snapshot is before
        if orphans:
            with pytest.raises((DependentObjects, UnknownObject)):
                tx.changes()
            continue
        fresh = set(tx.snapshot.items) - set(snapshot.items)
        assert not fresh & used
        used |= fresh
        snapshot = snapshot.apply(tx.changes(snapshot.upper), Timestamp(snapshot.upper + 1))
        model = tried
        check_integrity(snapshot)
        names_of_kind: dict[str, set[str]] = {
            s.name: set() for s in snapshot.schemas.values() if s.database_id == 1
        }
        for item in snapshot.items.values():
            names_of_kind[snapshot.schemas[item.schema_id].name].add(item.name)
        assert names_of_kind == model
        assert snapshot.at(AT) == CatalogSnapshot.of(
            (t for kind in snapshot._objects for t in snapshot.all(kind).values()), AT
        )

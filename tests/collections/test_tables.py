"""Tables: a record in consensus is the commit, over any number of tables; Delta follows, by anyone,
as often as they like."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from fixtures.lakes import DESC
from fixtures.tables import CATALOG_TS, LEADERSHIP, A, B, C, changes, open_tables, read, write

from reclock.algebra.ids import TABLES, GlobalId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, MAXIMUM, Timestamp
from reclock.collections import tables as tables_module
from reclock.collections.collection import Collection
from reclock.collections.compaction import vacuum
from reclock.collections.key_hashes import KeyColumns
from reclock.collections.keys import Keys
from reclock.collections.lake import Lake
from reclock.collections.table_commits import (
    Commit,
    KeyRead,
    Payload,
    PendingWrite,
    WalState,
    decide,
)
from reclock.collections.tables import Tables, table_id
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogMoved,
    ConsensusOutcomeUnknown,
    Fenced,
    StagedRowsGone,
    UpperMismatch,
    WriteConflict,
)
from reclock.oracle.oracle import ConsensusOracle

COLUMN = DESC.names[0]
Opened = tuple[Tables, Consensus, ConsensusOracle]


@pytest.fixture
def opened(migrated_url: str, tmp_path: Path):
    # A clock that stands still: each time is the one after the last, as where commits are many.
    tables, consensus, oracle = open_tables(
        migrated_url, str(tmp_path / "lake"), clock=lambda: Timestamp(1)
    )
    yield tables, consensus, oracle
    consensus.close()


def test_a_commit_over_two_tables_is_seen_in_both_from_its_time_on_and_in_neither_before(
    opened: Opened,
) -> None:
    tables, consensus, oracle = opened
    at = write(tables, a={("x", 1): 1}, b={("y", 2): 1})
    assert oracle.read_ts(EPOCH_MS) == at
    assert Frontiers(consensus, LEADERSHIP).get(TABLES).upper == at + 1
    for _ in range(2):
        assert read(tables, A, B, at=at) == [{("x", 1): 1}, {("y", 2): 1}]
        assert read(tables, A, B, at=Timestamp(at - 1)) == [{}, {}]
        tables.apply()


def test_applying_moves_rows_from_the_log_to_delta_once_whoever_does_it(opened: Opened) -> None:
    tables, _, _ = opened
    other = Tables(Lake(tables._lake.root), tables.log)
    first = write(tables, a={("x", 1): 1})
    last = write(tables, a={("x", 1): -1, ("x", 2): 1}, b={("y", 2): 1})
    assert tables.apply(through=first) == 1
    assert other.apply() == 2
    assert tables.apply() == 0
    assert tables.log.pending() == []
    version = tables._lake.open(table_id(A)).pin()
    assert version.upper == last + 1
    assert version.changes(Timestamp(0), MAXIMUM).num_rows == 3
    assert read(tables, A, B, at=first) == [{("x", 1): 1}, {}]
    assert read(tables, A, B) == [{("x", 2): 1}, {("y", 2): 1}]


def test_a_read_after_a_write_takes_only_that_write_from_the_log_and_nothing_from_the_lake(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, _, _ = opened
    decoded, looked = [], []
    write_rows, pin = tables_module.write_rows, Collection.pin
    monkeypatch.setattr(
        tables_module,
        "write_rows",
        lambda folder, payload: decoded.append(payload) or write_rows(folder, payload),
    )
    monkeypatch.setattr(Collection, "pin", lambda self: looked.append(self.id) or pin(self))
    monkeypatch.setattr(tables_module, "_RECENT_S", 3600.0)
    for number in range(5):
        at = write(tables, a={("x", number): 1})
        assert read(tables, A, at=at) == [{("x", n): 1 for n in range(number + 1)}]
        assert (len(decoded), len(looked)) == (number + 1, 1)
    tables.apply()
    at, decoded[:] = write(tables, a={("x", 0): -1}), []
    assert read(tables, A, at=at) == [{("x", n): 1 for n in range(1, 5)}]
    assert (len(decoded), len(looked)) == (1, 2)  # the log was trimmed: a newer version has it
    monkeypatch.setattr(tables_module, "_RECENT_S", 0.0)
    assert read(tables, A, at=write(tables, b={("y", 1): 1})) == [
        {("x", n): 1 for n in range(1, 5)}
    ]
    assert len(looked) == 3  # compaction may have made another one


def test_an_applier_that_was_asleep_brings_nothing_twice(opened: Opened) -> None:
    tables, _, _ = opened
    write(tables, a={("x", 1): 1})
    stale = tables.log.pending()
    tables.apply()
    write(tables, a={("y", 1): 1})
    tables._apply(tables._lake.open(table_id(A)), stale)
    assert read(tables, A) == [{("x", 1): 1, ("y", 1): 1}]


def test_a_transaction_whose_reads_were_written_since_is_refused_and_others_are_not(
    opened: Opened,
) -> None:
    tables, _, oracle = opened
    write(tables, a={("x", 1): 1}, b={("y", 1): 1})
    read_at = oracle.read_ts(EPOCH_MS)
    write(tables, a={("x", 2): 1})
    tables.apply()  # that the record is gone does not matter
    with pytest.raises(WriteConflict):
        tables.commit(
            {B: changes({("z", 1): 1})},
            catalog_ts=CATALOG_TS,
            reads=frozenset({A}),
            read_at=read_at,
        )
    tables.commit(
        {A: changes({("z", 1): 1})}, catalog_ts=CATALOG_TS, reads=frozenset({B}), read_at=read_at
    )
    assert read(tables, A, B) == [{("x", 1): 1, ("x", 2): 1, ("z", 1): 1}, {("y", 1): 1}]


def test_of_a_batch_whoever_reads_what_one_before_it_writes_is_refused() -> None:
    def commit(reads: set[GlobalId], writes: set[GlobalId]) -> Commit:
        return Commit(
            dict.fromkeys(writes, Payload(changes({}))), CATALOG_TS, frozenset(reads), Timestamp(5)
        )

    batch = [
        commit({A}, {B}),
        commit({B}, {A}),
        commit(set(), {B}),
        commit({C}, {A}),
        commit({A}, {C}),
    ]
    before = dict.fromkeys((A, B, C), Timestamp(5))
    refused = [
        refusal is not None for refusal in decide(batch, WalState(before, CATALOG_TS, frozenset()))
    ]
    assert refused == [False, True, False, False, True]
    late = decide(batch, WalState(before | {A: Timestamp(6)}, CATALOG_TS, frozenset()))
    assert [isinstance(refusal, WriteConflict) for refusal in late] == [
        True,
        False,
        False,
        False,
        True,
    ]


def test_a_reader_by_keys_conflicts_with_writes_of_those_rows_alone(opened: Opened) -> None:
    tables, _, oracle = opened
    write(tables, a={("x", 1): 1, ("y", 2): 1})

    def change(read_at: Timestamp, *names: str) -> None:
        keys = {A: Keys(COLUMN, frozenset(names))}
        tables.commit(
            {A: changes({("new", 0): 1})},
            catalog_ts=CATALOG_TS,
            reads=frozenset({A}),
            read_at=read_at,
            keys=keys,
        )

    read_at = oracle.read_ts(EPOCH_MS)
    write(tables, a={("x", 1): -1, ("x", 7): 1})
    change(read_at, "y")
    for names in (("x",), ("y", "new")):
        with pytest.raises(WriteConflict):
            change(read_at, *names)
    tables.apply()  # the log does not know any more what was written
    with pytest.raises(WriteConflict):
        change(read_at, "y")
    change(oracle.read_ts(EPOCH_MS), "y")
    assert read(tables, A) == [{("x", 7): 1, ("y", 2): 1, ("new", 0): 2}]


def test_of_a_batch_keys_are_compared_with_what_is_written_before() -> None:
    def commit(name: str) -> Commit:
        rows = Payload(changes({(name, 1): 1}))
        return Commit(
            {A: rows},
            CATALOG_TS,
            frozenset({A}),
            Timestamp(5),
            {A: Keys(COLUMN, frozenset({name}))},
        )

    batch = [commit("x"), commit("y"), commit("x")]
    refused = [
        refusal is not None
        for refusal in decide(batch, WalState({A: Timestamp(5)}, CATALOG_TS, frozenset()))
    ]
    assert refused == [False, False, True]


def test_of_a_batch_counted_keys_are_compared_with_what_is_written_before() -> None:
    key = KeyColumns((COLUMN,))
    at = Timestamp(5)

    def commit(name: str, read_at: Timestamp = at) -> Commit:
        rows = changes({(name, 1): 1})
        read = KeyRead(A, read_at, key, key.hashes(rows)[0])
        return Commit({A: Payload(rows)}, CATALOG_TS, key_reads=(read,))

    batch = [commit("x"), commit("y"), commit("x"), commit("z"), commit("z"), commit("y")]
    assert refused(batch, WalState({A: at}, CATALOG_TS, frozenset())) == [
        *(False, False, True),
        *(False, True, True),
    ]
    later = WalState({A: Timestamp(7)}, CATALOG_TS, frozenset())
    assert refused(batch[:1], later) == [True]  # the log does not know any more what was written
    logged = [
        PendingWrite(Timestamp(ts), 0, A, Payload(changes({(name, 1): 1})))
        for ts, name in ((6, "x"), (7, "y"))
    ]
    later = replace(later, recent={A: logged})
    batch = [commit("x"), commit("x", Timestamp(6)), commit("y", Timestamp(6)), commit("z")]
    assert refused(batch, later) == [True, False, True, False]
    staged = replace(logged[0], payload=Payload(staged="file"))
    assert refused(batch, replace(later, recent={A: [staged]})) == [True, False, False, True]


def refused(batch: list[Commit], state: WalState) -> list[bool]:
    return [refusal is not None for refusal in decide(batch, state)]


def test_commits_of_a_batch_share_one_write_of_each_table(opened: Opened) -> None:
    tables, _, _ = opened
    batch = [
        tables.prepare(
            {A: changes({(f"x{n}", 1): 1}), B: changes({("y", n): 1})}, catalog_ts=CATALOG_TS
        )
        for n in range(3)
    ]
    [at] = set(tables.log.commit(batch))
    assert isinstance(at, int)
    assert [(write.at, write.table) for write in tables.log.pending()] == [(at, A), (at, B)]
    for _ in range(2):
        assert read(tables, A, B, at=at) == [
            {(f"x{n}", 1): 1 for n in range(3)},
            {("y", n): 1 for n in range(3)},
        ]
        tables.apply()


def test_a_write_planned_on_an_older_catalog_is_refused_whole(opened: Opened) -> None:
    tables, _, oracle = opened
    oracle.apply_write(CATALOG, Timestamp(CATALOG_TS + 1))
    with pytest.raises(CatalogMoved):
        write(tables, a={("x", 1): 1}, b={("y", 1): 1})
    assert read(tables, A, B) == [{}, {}]


def test_a_fenced_writer_commits_nothing(opened: Opened) -> None:
    tables, consensus, _ = opened
    consensus.transact(lambda connection: fence.advance(connection, Leadership(2, 0)))
    with pytest.raises(Fenced):
        write(tables, a={("x", 1): 1})
    assert read(tables, A) == [{}]


def test_a_time_given_by_hand_lies_at_or_beyond_the_upper(opened: Opened) -> None:
    tables, _, _ = opened
    commit = Commit({A: tables._payload(A, changes({("x", 1): 1}))}, CATALOG_TS)
    assert tables.log.commit([commit], at=Timestamp(2**40 + 5)) == [2**40 + 5]
    with pytest.raises(UpperMismatch):
        tables.log.commit([commit], at=Timestamp(2**40 + 5))
    assert read(tables, A) == [{("x", 1): 1}]


@pytest.mark.parametrize("has_landed", [True, False])
def test_an_unknown_outcome_is_found_out_and_the_commit_happens_once(
    opened: Opened, monkeypatch, has_landed: bool
) -> None:
    tables, consensus, _ = opened
    real, calls = consensus.transact, []

    def transact(work):
        calls.append(work)
        if len(calls) > 1:
            return real(work)
        if has_landed:
            real(work)
        raise ConsensusOutcomeUnknown(detail="the connection broke")

    monkeypatch.setattr(consensus, "transact", transact)
    at = write(tables, a={("x", 1): 1})
    monkeypatch.undo()
    assert read(tables, A, at=at) == [{("x", 1): 1}]
    assert len(tables.log.pending()) == 1


def test_many_rows_are_staged_and_stay_until_they_are_applied(opened: Opened, monkeypatch) -> None:
    tables, _, _ = opened
    monkeypatch.setattr(tables_module, "STAGED_FROM_BYTES", 0)
    at = write(tables, a={("x", 1): 2, ("y", None): 1})
    [pending] = tables.log.pending()
    assert pending.payload.rows is None
    collection = tables._lake.open(table_id(A))
    vacuum(collection, before=MAXIMUM, claimed_staging=tables.log.staged_names())
    assert read(tables, A, at=at) == [{("x", 1): 2, ("y", None): 1}]
    tables.apply()
    assert tables.log.staged_names() == frozenset()
    vacuum(collection, before=MAXIMUM, claimed_staging=tables.log.staged_names())
    assert read(tables, A, at=at) == [{("x", 1): 2, ("y", None): 1}]


def test_rows_whose_lease_ran_out_before_the_commit_are_refused(
    opened: Opened, monkeypatch
) -> None:
    tables, _, _ = opened
    monkeypatch.setattr(tables_module, "STAGED_FROM_BYTES", 0)
    monkeypatch.setattr(tables_module, "STAGING_LEASE_MS", -1)
    payload = tables._payload(A, changes({("x", 1): 1}))
    assert tables.log.staged_names() == frozenset()
    [refusal] = tables.log.commit([Commit({A: payload}, CATALOG_TS)])
    assert isinstance(refusal, StagedRowsGone)


def test_a_forgotten_table_leaves_nothing_and_holds_nobody_up(opened: Opened) -> None:
    tables, consensus, _ = opened
    write(tables, a={("x", 1): 1}, b={("y", 1): 1})
    tables.drop(A)
    with pytest.raises(CatalogMoved):
        write(tables, a={("x", 1): 1}, b={("x", 1): 1})
    tables.apply()
    assert tables.log.pending() == []
    assert read(tables, B) == [{("y", 1): 1}]
    remaining_rows = consensus.read(
        lambda connection: connection.scalars(
            sa.text("SELECT table_id FROM reclock_table WHERE last_write > 0")
        ).all()
    )
    assert remaining_rows == [B]

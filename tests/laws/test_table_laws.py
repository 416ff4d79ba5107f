"""Laws of tables: random transactions, appliers and readers in any order see what a plain model
sees."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from fixtures.tables import CATALOG_TS, A, B, C, changes, open_tables, read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections import tables as tables_module
from reclock.collections.compaction import compact
from reclock.collections.lake import Lake
from reclock.collections.tables import Tables, table_id
from reclock.errors import WriteConflict

IDS = (A, B, C)
ids = st.sampled_from(IDS)
names = st.sampled_from("xyz")
rows = st.dictionaries(names, st.integers(1, 3), min_size=1)
steps = st.one_of(
    st.tuples(
        st.just("write"),
        st.dictionaries(ids, st.dictionaries(names, st.integers(1, 3), min_size=1), min_size=1),
        st.booleans(),
    ),
    st.tuples(st.just("begin"), st.frozensets(ids, min_size=1), ids),
    st.tuples(st.just("commit"), st.integers(0, 3)),
    st.tuples(st.just("apply"), st.booleans(), st.integers(0, 3)),
    st.tuples(st.just("apply stale"), st.booleans()),
    st.tuples(st.just("compact"), ids),
)

_number = itertools.count()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=25))
def test_every_time_reads_as_the_model_whoever_applies_what_when(
    root: Path, script: list[tuple]
) -> None:
    folder = root / str(next(_number))
    folder.mkdir()
    tables, consensus, oracle = open_tables(
        f"sqlite:///{folder}/consensus.db", str(folder / "lake"), clock=lambda: Timestamp(1)
    )
    other = Tables(Lake(str(folder / "lake")), tables.log)
    model = {id: Counter() for id in IDS}
    last_write = dict.fromkeys(IDS, 0)
    history = [(0, {id: {} for id in IDS})]
    started = []
    stale = []
    compacted = 0

    def remember(at: int, writes: dict) -> None:
        for id, rows in writes.items():
            for name, count in rows.items():
                model[id][name, count] += 1
            last_write[id] = at
        history.append((at, {id: dict(counts) for id, counts in model.items()}))

    def commit(writes: dict, reads=frozenset(), read_at=None) -> int:
        payload = {id: changes(dict.fromkeys(rows.items(), 1)) for id, rows in writes.items()}
        return tables.commit(payload, catalog_ts=CATALOG_TS, reads=reads, read_at=read_at)

    for step in script:
        match step:
            case ("write", writes, is_staged):
                before = tables_module.STAGED_FROM_BYTES
                tables_module.STAGED_FROM_BYTES = 0 if is_staged else 1 << 20
                try:
                    remember(commit(writes), writes)
                finally:
                    tables_module.STAGED_FROM_BYTES = before
            case ("begin", reads, writes):
                started.append((reads, writes, oracle.read_ts(EPOCH_MS)))
            case ("commit", index) if started:
                reads, writes, read_at = started.pop(index % len(started))
                change = {writes: {"t": len(history)}}
                is_stale = any(last_write[id] > read_at for id in reads)
                if is_stale:
                    with pytest.raises(WriteConflict):
                        commit(change, reads, read_at)
                else:
                    remember(commit(change, reads, read_at), change)
            case ("apply", is_other, back):
                stale = tables.log.pending()
                (other if is_other else tables).apply(
                    through=Timestamp(history[max(0, len(history) - 1 - back)][0])
                )
            case ("apply stale", is_other):
                for id in {write.table for write in stale}:
                    actor = other if is_other else tables
                    actor._apply(
                        actor._lake.open(table_id(id)),
                        [write for write in stale if write.table == id],
                    )
            case ("compact", id):
                compacted = history[-1][0]
                tables.apply()
                compact(tables._lake.open(table_id(id)), Timestamp(compacted))
    for reader in (tables, other):
        for at, expected in history:
            if at >= compacted:
                assert read(reader, *IDS, at=Timestamp(at)) == [expected[id] for id in IDS]
    consensus.close()

"""What persist promises beyond the protocol: it reads what is new alone, keeps its files few, and
notices what was broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from fixtures.catalogs import BUILTINS, CatalogPlace, create_schema, joined, opened

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog import update_files
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.known_updates import KnownUpdates
from reclock.catalog.objects import APPEND_ONLY, Schema
from reclock.catalog.persist import APPENDS_PER_MERGE, PersistLog
from reclock.collections.delta_log import COMMITS_PER_CHECKPOINT
from reclock.collections.folder import Folder
from reclock.errors import CatalogCorrupt, UpperMismatch


@pytest.fixture
def place(tmp_path: Path) -> Iterator[CatalogPlace]:
    made = CatalogPlace("persist", f"sqlite:///{tmp_path / 'consensus.db'}", tmp_path)
    yield made
    made.close()


def log_of(state: DurableCatalogState) -> PersistLog:
    return state._log  # type: ignore[attr-defined,no-any-return]


def files(place: CatalogPlace) -> list[Path]:
    return sorted(Path(place.folder.uri, "data").iterdir())


def entries(place: CatalogPlace) -> list[Path]:
    return sorted(Path(place.folder.uri, "_delta_log").glob("*.json"))


class TestReading:
    @pytest.fixture
    def reads(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The paths of all data files that are read from here on."""
        paths: list[str] = []
        read = update_files._read
        monkeypatch.setattr(
            update_files, "_read", lambda folder, path: [paths.append(path), read(folder, path)][1]
        )
        return paths

    def test_a_writer_reads_nothing_that_it_knows(
        self, place: CatalogPlace, reads: list[str]
    ) -> None:
        state = opened(place)
        reads.clear()
        subscription = state.subscribe_at(state.upper)
        for number in range(5):
            create_schema(state, f"s{number}")
            state.sync()
            subscription.poll()
        assert reads == []

    def test_a_follower_reads_each_new_file_once(
        self, place: CatalogPlace, reads: list[str]
    ) -> None:
        state, follower = opened(place), joined(place)
        subscription = follower.subscribe_at(follower.upper)
        subscription.poll()
        reads.clear()
        for number in range(5):
            create_schema(state, f"s{number}")
            for _ in range(2):
                follower.sync()
                subscription.poll()
        assert len(reads) == len(set(reads)) == 5

    def test_upper_and_leadership_are_known_without_reading_data(
        self, place: CatalogPlace, reads: list[str]
    ) -> None:
        state = opened(place)
        reads.clear()
        log = place.log()
        assert (log.upper(), log.leadership()) == (state.upper, state.leadership)
        assert reads == []

    def test_merged_events_are_not_read_when_a_catalog_is_opened(
        self, place: CatalogPlace, reads: list[str]
    ) -> None:
        state = opened(place)
        for number in range(APPENDS_PER_MERGE):
            create_schema(state, f"s{number}")
        reads.clear()
        joined(place)
        kinds = {update_files.Holds(Path(path).name.partition("-")[0]) for path in reads}
        assert kinds == {update_files.Holds.OBJECTS, update_files.Holds.APPEND}
        assert len(state.get_audit_logs()) == APPENDS_PER_MERGE

    def test_any_past_can_be_read_exactly_after_merges(self, place: CatalogPlace) -> None:
        state = opened(place)
        uppers, snapshots = [], []
        for number in range(3 * APPENDS_PER_MERGE):
            create_schema(state, f"s{number}")
            uppers.append(state.upper)
            snapshots.append(
                sorted((u.kind, u.key, u.value) for u in place.log().snapshot()[1])
                if number % 10 == 0
                else None
            )
        fresh = place.log()
        for number, (upper, snapshot) in enumerate(zip(uppers, snapshots, strict=True)):
            _, events = fresh.updates(upper, only=APPEND_ONLY)
            assert len(events) == len(uppers) - number - 1
            if snapshot is not None:
                assert (
                    sorted((u.kind, u.key, u.value) for u in fresh.snapshot(below=upper)[1])
                    == snapshot
                )
        assert fresh.updates(uppers[7]) == log_of(state).updates(uppers[7])

    def test_a_reader_goes_on_when_a_merge_takes_its_files(
        self, place: CatalogPlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        state = opened(place)
        for number in range(APPENDS_PER_MERGE - 4):
            create_schema(state, f"s{number}")
        read, overtaken = update_files.read, []

        def overtake(*arguments: Any) -> pa.Table:
            if not overtaken:
                overtaken.append(1)
                for number in range(4):
                    create_schema(state, f"t{number}")
            return read(*arguments)

        monkeypatch.setattr(update_files, "read", overtake)
        reader = joined(place)
        assert reader.sync().schema_by_name(1, "t3") is not None

    def test_what_is_kept_one_by_one_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("reclock.catalog.known_updates.KEPT", 10)
        updates = KnownUpdates({}, MINIMUM)
        every = [
            update_files.CatalogUpdate("setting", str(at), "x", Timestamp(at), 1)
            for at in range(100)
        ]
        for update in every:
            updates.add([update], Timestamp(update.ts + 1))
        assert 10 <= 100 - updates.since <= 20
        assert updates.updates(updates.since, None) == every[updates.since :]
        assert {u.key for u in updates.summed(Timestamp(95), None)} == {str(at) for at in range(95)}


class TestFiles:
    def test_files_stay_few_and_nothing_is_left_over(self, place: CatalogPlace) -> None:
        state = opened(place)
        for number in range(6 * APPENDS_PER_MERGE):
            create_schema(state, f"s{number}")
        assert len(files(place)) < APPENDS_PER_MERGE + 8
        held = {file.path for file in log_of(state)._table.state.files}
        assert {f"data/{path.name}" for path in files(place)} >= held
        assert [event.object_name for event in joined(place).get_audit_logs()] == [
            f"s{n}" for n in range(6 * APPENDS_PER_MERGE)
        ]

    def test_a_reader_far_behind_starts_again_at_a_checkpoint(
        self, place: CatalogPlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        properties = {
            "delta.logRetentionDuration": "interval 0 seconds",
            "delta.deletedFileRetentionDuration": "interval 0 seconds",
        }
        monkeypatch.setattr("reclock.catalog.persist_table._PROPERTIES", properties)
        state, behind = opened(place), joined(place)
        for number in range(COMMITS_PER_CHECKPOINT + 5):
            create_schema(state, f"s{number}")
        assert len(entries(place)) < COMMITS_PER_CHECKPOINT, "entries were dropped"
        assert behind.sync() == state.snapshot()
        assert joined(place).sync() == state.snapshot().at(state.upper)

    def test_a_refused_writer_leaves_no_file(self, place: CatalogPlace) -> None:
        state, other = opened(place), joined(place)
        tx = other.transaction()
        tx.allocate_schema_id()
        create_schema(state, "raw")
        before = files(place)
        log = log_of(other)
        refresh = log._table.refresh
        stale = refresh()
        create_schema(state, "again")
        answers = iter([stale])
        log._table.refresh = lambda: next(answers, None) or refresh()  # type: ignore[method-assign]
        with pytest.raises(UpperMismatch):
            log.compare_and_append(stale.upper, Timestamp(stale.upper + 1), [], other.leadership)
        assert len(files(place)) == len(before) + 1

    def test_a_file_that_is_deleted_before_it_is_flushed_has_lost_its_race(
        self, place: CatalogPlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another has appended there, so that it is garbage, and a merge of that one cleans up."""
        state, other = opened(place), joined(place)
        sync = Folder.sync

        def outrun(folder: Folder, paths: Iterable[str]) -> None:
            monkeypatch.setattr(Folder, "sync", sync)
            create_schema(state, "raw")
            folder.delete(list(paths))
            raise FileNotFoundError

        tx = other.transaction()
        tx.insert(Schema(tx.allocate_schema_id(), 1, "late", "u1"))
        monkeypatch.setattr(Folder, "sync", outrun)
        with pytest.raises(UpperMismatch):
            other.commit_transaction(tx)
        other.sync()
        create_schema(other, "later")


class TestLostAnswers:
    @pytest.fixture(params=["after", "before"])
    def lose_an_answer(
        self, request: pytest.FixtureRequest
    ) -> Callable[[DurableCatalogState], None]:
        """The store breaks at the next commit, once: after it, or before it."""

        def lose(state: DurableCatalogState) -> None:
            log = log_of(state)
            log.upper()
            table = log._table._log
            commit = table.commit

            def once(*arguments: Any, **options: Any) -> bool:
                del table.commit  # type: ignore[attr-defined]
                if request.param == "after":
                    commit(*arguments, **options)
                raise DeltaError("connection reset")

            table.commit = once  # type: ignore[method-assign]

        return lose

    def test_a_commit_of_unknown_outcome_happens_exactly_once(
        self, place: CatalogPlace, lose_an_answer: Callable[[DurableCatalogState], None]
    ) -> None:
        state = opened(place)
        lose_an_answer(state)
        create_schema(state, "raw")
        assert [event.object_name for event in joined(place).get_audit_logs()] == ["raw"]
        create_schema(state, "more")

    def test_an_epoch_of_unknown_outcome_is_raised_exactly_once(
        self, place: CatalogPlace, lose_an_answer: Callable[[DurableCatalogState], None]
    ) -> None:
        opened(place)
        state = place.state()
        lose_an_answer(state)
        state.open()
        assert state.epoch == 3
        create_schema(state, "raw")

    def test_a_conflict_with_itself_is_no_conflict(self, place: CatalogPlace) -> None:
        """As an object store answers when it tries again what had arrived."""
        state = opened(place)
        table = log_of(state)._table._log
        commit = table.commit

        def seems_lost(*arguments: Any, **options: Any) -> bool:
            del table.commit  # type: ignore[attr-defined]
            assert commit(*arguments, **options)
            return False

        table.commit = seems_lost  # type: ignore[method-assign]
        create_schema(state, "raw")
        assert len(state.get_audit_logs()) == 1


class TestBroken:
    @pytest.fixture
    def broken(self, place: CatalogPlace) -> Callable[[], CatalogCorrupt]:
        """What a process says that opens the catalog now; it changes nothing."""
        state = place.state()
        state.open(BUILTINS)
        for name in ("one", "two", "three"):
            create_schema(state, name)

        def say() -> CatalogCorrupt:
            before = {path: path.read_bytes() for path in (*files(place), *entries(place))}
            for attempt in (
                lambda: place.state().check_open(),
                lambda: place.state().open(),
                lambda: joined(place),
            ):
                with pytest.raises(CatalogCorrupt) as corrupt:
                    attempt()
            assert {path: path.read_bytes() for path in before} == before
            return corrupt.value

        return say

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
    @pytest.mark.parametrize("which", [-1, -2])
    def test_a_log_entry_is_cut(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt], share: float, which: int
    ) -> None:
        entry = entries(place)[which]
        content = entry.read_bytes()
        entry.write_bytes(content[: int(len(content) * share)])
        assert "_delta_log" in broken().key

    def test_a_log_entry_is_cut_between_its_lines(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt]
    ) -> None:
        entry = entries(place)[-1]
        lines = entry.read_bytes().splitlines(keepends=True)
        for length in range(len(lines)):
            entry.write_bytes(b"".join(lines[:length]))
            assert "_delta_log" in broken().key

    def test_a_log_entry_is_missing(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt]
    ) -> None:
        entries(place)[2].unlink()
        assert broken().key == "_delta_log"

    def test_the_log_is_missing(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt]
    ) -> None:
        for path in Path(place.folder.uri, "_delta_log").iterdir():
            path.unlink()
        assert broken().key == "_delta_log"

    def test_a_data_file_is_missing(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt]
    ) -> None:
        missing = files(place)[1]
        missing.unlink()
        assert broken().key == f"data/{missing.name}"

    @pytest.mark.parametrize("keep", [0, 10, 500])
    def test_a_data_file_is_truncated(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt], keep: int
    ) -> None:
        cut = files(place)[1]
        cut.write_bytes(cut.read_bytes()[:keep])
        assert broken().key == f"data/{cut.name}"

    def test_a_row_is_altered(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt]
    ) -> None:
        altered = files(place)[1]
        table = pq.read_table(altered)
        values = [value.replace("u1", "u2") for value in table["value"].to_pylist()]
        pq.write_table(
            table.set_column(2, table.schema.field("value"), pa.array(values)),
            altered,
            compression="zstd",
        )
        assert broken().key == f"data/{altered.name}"

    def test_a_file_of_another_program_is_committed(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt]
    ) -> None:
        table = pq.read_table(files(place)[1])
        write_deltalake(place.folder.uri, table, mode="append")
        assert "_delta_log" in broken().key

    @pytest.mark.parametrize("share", [0.0, 0.5])
    def test_a_checkpoint_is_cut(
        self, place: CatalogPlace, broken: Callable[[], CatalogCorrupt], share: float
    ) -> None:
        DeltaTable(place.folder.uri).create_checkpoint()
        [checkpoint] = Path(place.folder.uri, "_delta_log").glob("*.checkpoint.parquet")
        content = checkpoint.read_bytes()
        checkpoint.write_bytes(content[: int(len(content) * share)])
        assert broken().key == "_delta_log"

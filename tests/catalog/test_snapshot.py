"""A snapshot knows by which changes it was made from an earlier one."""

from reclock.algebra.timestamps import Timestamp
from reclock.catalog import snapshot as module
from reclock.catalog.encoding import ObjectChange
from reclock.catalog.objects import Config, Kind
from reclock.catalog.snapshot import CatalogSnapshot


def with_config(snapshot: CatalogSnapshot, key: str, value: int) -> CatalogSnapshot:
    return snapshot.with_change(snapshot.get(Kind.CONFIG, key), Config(key, value))


def test_the_changes_since_an_earlier_snapshot_are_known_and_of_another_history_unknown() -> None:
    empty = CatalogSnapshot.empty()
    first = with_config(empty, "a", 1)
    second = with_config(with_config(first, "b", 2), "a", 3)
    assert second.changed_since(second) == frozenset()
    assert second.at(Timestamp(9)).changed_since(second) == frozenset()
    assert second.changed_since(first) == {(Kind.CONFIG, "a"), (Kind.CONFIG, "b")}
    assert with_config(first, "c", 1).changed_since(first) == {(Kind.CONFIG, "c")}
    assert first.changed_since(second) is None
    assert with_config(first, "c", 1).changed_since(second) is None
    loaded = CatalogSnapshot.of([Config("a", 1)], Timestamp(5))
    assert loaded == first.at(Timestamp(5))
    assert loaded.changed_since(first) is None
    applied = first.apply([ObjectChange(Config("d", 4), Timestamp(3), 1)], Timestamp(5))
    assert applied.changed_since(empty) == {(Kind.CONFIG, "a"), (Kind.CONFIG, "d")}


def test_a_snapshot_does_not_hold_on_to_all_of_its_history() -> None:
    base = last = CatalogSnapshot.empty()
    for value in range(module._RECENT_CHANGES):
        last = with_config(last, str(value), value)
    changed = last.changed_since(base)
    assert changed is not None
    assert len(changed) == module._RECENT_CHANGES
    last = with_config(last, "another", 1)
    assert last.changed_since(base) is None
    assert len(last._recent) == module._RECENT_CHANGES

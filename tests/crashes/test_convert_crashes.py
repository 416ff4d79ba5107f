"""A process is killed between any two durable steps of converting or mending a catalog: it is as
before or after, and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from crashes.convert_worker import work
from fixtures.catalogs import NOW, CatalogPlace, create_schema, opened
from fixtures.forks import die_at

from reclock.catalog.convert import convert_catalog
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.implementations import Implementation
from reclock.catalog.objects import Kind
from reclock.config import Settings
from reclock.consensus.leadership import identity
from reclock.consensus.leadership.identity import EnvironmentMark

OTHER: dict[Implementation, Implementation] = {"stash": "persist", "persist": "stash"}

COPIED = (
    "catalog.convert.after_copy",
    "catalog.convert.before_switch",
    "catalog.convert.before_switch_commit",
)
BEFORE_SWITCH: dict[Implementation, tuple[str, ...]] = {
    "stash": (
        "catalog.convert.before_seal",
        "catalog.stash.lead.updates_written",
        "catalog.stash.lead.before_commit",
        "catalog.convert.after_seal",
        "catalog.convert.before_copy",
        "catalog.persist.create.landed",
        "catalog.persist.lead.file_written",
        "catalog.persist.lead.landed",
        "catalog.persist.compact.since_raised",
        *COPIED,
    ),
    "persist": (
        "catalog.convert.before_seal",
        "catalog.persist.lead.file_written",
        "catalog.persist.lead.landed",
        "catalog.convert.after_seal",
        "catalog.convert.before_copy",
        "catalog.stash.append.updates_written",
        "catalog.stash.append.before_commit",
        "catalog.stash.compact.since_raised",
        *COPIED,
    ),
}
CASES = [(source, killed_at) for source, points in BEFORE_SWITCH.items() for killed_at in points]


class Environment:
    """An environment's consensus and home, with whichever catalog is in force."""

    def __init__(self, home: Path, implementation: Implementation) -> None:
        self.url, self.home = f"sqlite:///{home / 'consensus.db'}", home
        self.place = CatalogPlace(implementation, self.url, home)
        self.place.consensus.transact(
            lambda c: identity.establish(c, EnvironmentMark("tests", implementation))
        )

    @property
    def in_force(self) -> CatalogPlace:
        mark = self.place.consensus.read(identity.current)
        assert mark is not None
        return CatalogPlace(mark.catalog, self.url, self.home)

    def started(self) -> DurableCatalogState:
        """As `reclock init` and every tick begin: joined, or opened if that does not do."""
        state = self.in_force.state()
        if state.is_current():
            state.join()
        else:
            state.open()
        return state

    def convert(self, to: Implementation) -> None:
        place = self.place
        settings = Settings.load(self.home)
        convert_catalog(
            to, settings, place.consensus, oracle=place.oracle, user="ada", occurred_at=NOW
        )

    def crash(self, operation: str, killed_at: str) -> None:
        """Run the operation in a process that dies at the point."""
        die_at(killed_at, work, self.url, self.home, operation)


def names(state: DurableCatalogState) -> list[str]:
    return [event.object_name for event in state.get_audit_logs()]


@pytest.mark.parametrize(("source", "killed_at"), CASES)
def test_before_the_switch_the_old_catalog_goes_on(
    tmp_path: Path, source: Implementation, killed_at: str
) -> None:
    env = Environment(tmp_path, source)
    old = opened(env.place)
    create_schema(old, "before")
    env.crash(OTHER[source], killed_at)
    assert env.in_force.implementation == source
    state = env.started()
    assert names(state) == ["before"]
    create_schema(state, "goes_on")
    env.convert(OTHER[source])
    assert env.in_force.implementation == OTHER[source]
    assert names(env.started()) == ["before", "goes_on", OTHER[source]]


@pytest.mark.parametrize(("source", "killed_at"), CASES)
def test_a_conversion_that_died_is_finished_by_the_next(
    tmp_path: Path, source: Implementation, killed_at: str
) -> None:
    env = Environment(tmp_path, source)
    create_schema(opened(env.place), "before")
    env.crash(OTHER[source], killed_at)
    env.convert(OTHER[source])
    assert env.in_force.implementation == OTHER[source]
    state = env.started()
    assert names(state) == ["before", OTHER[source]]
    create_schema(state, "afterwards")
    env.convert(source)
    assert names(env.started()) == ["before", OTHER[source], "afterwards", source]


@pytest.mark.parametrize("source", BEFORE_SWITCH)
@pytest.mark.parametrize("killed_at", ["catalog.convert.after_switch"])
def test_after_the_switch_the_new_catalog_is_there(
    tmp_path: Path, source: Implementation, killed_at: str
) -> None:
    env = Environment(tmp_path, source)
    create_schema(opened(env.place), "before")
    env.crash(OTHER[source], killed_at)
    assert env.in_force.implementation == OTHER[source]
    state = env.started()
    assert names(state) == ["before", OTHER[source]]
    create_schema(state, "afterwards")


MENDING = {
    "catalog.mend.before_epoch": (2, False),
    "catalog.mend.after_epoch": (3, False),
    "catalog.mend.before_append": (3, False),
    "catalog.mend.after_append": (3, True),
}


@pytest.mark.parametrize("source", BEFORE_SWITCH)
@pytest.mark.parametrize("killed_at", MENDING)
def test_an_edit_by_hand_happens_or_does_not(
    tmp_path: Path, source: Implementation, killed_at: str
) -> None:
    env = Environment(tmp_path, source)
    create_schema(opened(env.place), "before")
    env.crash("mend", killed_at)
    state = env.started()
    epoch, is_made = MENDING[killed_at]
    assert (
        state.epoch,
        len(state.snapshot().sorted(Kind.SETTING)),
        len(state.get_audit_logs()),
    ) == (
        epoch,
        is_made,
        1 + is_made,
    )
    create_schema(state, "afterwards")

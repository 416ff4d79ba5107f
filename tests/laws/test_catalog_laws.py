"""Whatever is committed in whatever order, stash and persist and a plain model hold the same.

``--catalog-sequences 5000`` tries more than every run of the suite can wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from fixtures.catalogs import NOW, CatalogPlace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.encoding import decode_update
from reclock.catalog.implementations import Implementation
from reclock.catalog.log import CatalogLog
from reclock.catalog.objects import APPEND_ONLY, Kind, Schema, Setting
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.catalog.transaction import CatalogTransaction
from reclock.errors import DuplicateObject, NotReadable, ReclockError, UpperMismatch

NAMES = st.sampled_from(["a", "b", "c", "größe"])
ACTORS = 2

Step = tuple[str, Any, Any]
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("put"), NAMES, st.sampled_from(["1", "2", ""])),
    st.tuples(st.just("remove"), NAMES, st.none()),
    st.tuples(st.just("create"), NAMES, st.none()),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("drop"), NAMES, st.none()),
)


@dataclass(frozen=True)
class Attempt:
    """A transaction of one actor. One that is ``stale`` began before another actor's latest
    commit."""

    actor: int
    steps: tuple[Step, ...]
    is_stale: bool
    begins_anew: str


ATTEMPTS = st.builds(
    Attempt,
    actor=st.integers(0, ACTORS - 1),
    steps=st.lists(STEPS, max_size=5).map(tuple),
    is_stale=st.booleans(),
    begins_anew=st.sampled_from(["no", "no", "no", "no", "no", "join", "progress"]),
)


@dataclass(frozen=True)
class Model:
    """What a reader of the words would expect."""

    settings: dict[str, str] = field(default_factory=dict)
    schemas: frozenset[str] = frozenset({"public"})
    events: tuple[str, ...] = ()

    def after(self, steps: tuple[Step, ...]) -> Model:
        """Raises ``DuplicateObject``."""
        options, schemas, events = dict(self.settings), set(self.schemas), list(self.events)
        for action, name, other in steps:
            if action == "put":
                options[name] = other
            elif action == "remove":
                options.pop(name, None)
            elif action == "drop":
                schemas.discard(name)
            elif action == "create" or name in schemas:
                new = name if action == "create" else other
                if (new in schemas and new != name) or (action == "create" and name in schemas):
                    raise DuplicateObject("schema", new)
                schemas.discard(name)
                schemas.add(new)
            events.append(f"{action} {name}")
        return Model(options, frozenset(schemas), tuple(events))


def perform(tx: CatalogTransaction, steps: tuple[Step, ...]) -> None:
    for action, name, other in steps:
        schema, setting = tx.snapshot.schema_by_name(1, name), tx.snapshot.get(Kind.SETTING, name)
        if action == "put":
            tx.put(Setting(name, other))
        elif action == "remove" and setting:
            tx.delete(setting)
        elif action == "drop" and schema:
            tx.delete(schema)
        elif action == "create":
            tx.insert(Schema(tx.allocate_schema_id(), 1, name, "u1"))
        elif action == "rename" and schema:
            tx.update(replace(schema, name=other))
        tx.audit("alter", "schema", f"{action} {name}", user="reclock", occurred_at=NOW)


class Subject:
    """One implementation, with its actors."""

    def __init__(self, place: CatalogPlace) -> None:
        self.log = place.log()
        self.place = place
        first = place.state()
        first.open()
        self.actors = [first, *(self.joined() for _ in range(ACTORS - 1))]

        self.uppers: list[Timestamp] = []

    def joined(self) -> DurableCatalogState:
        state = self.place.state()
        state.join()
        return state

    def begin_anew(self) -> None:
        """Take all away that earlier sequences left."""
        state = self.actors[0]
        state.sync()
        tx = state.transaction()
        for initial_object in [
            *state.snapshot().sorted(Kind.SETTING),
            *(
                s
                for s in state.snapshot().sorted(Kind.SCHEMA)
                if s.database_id == 1 and s.name != "public"
            ),
        ]:
            tx.delete(initial_object)
        self.start = state.commit_transaction(tx)

    def attempt(self, attempt: Attempt) -> str:
        """What came of it."""
        if attempt.begins_anew == "join":
            self.actors[attempt.actor] = self.joined()
        state = self.actors[attempt.actor]
        if not attempt.is_stale:
            state.sync()
        if attempt.begins_anew == "progress":
            other = self.actors[1 - attempt.actor]
            other.sync()
            other.compare_and_append(other.upper, Timestamp(other.upper + 3), [])
        try:
            tx = state.transaction()
            perform(tx, attempt.steps)
            state.commit_transaction(tx)
        except ReclockError as refused:
            return type(refused).__name__
        return "committed"

    def holds(self) -> Model:
        state = self.actors[0]
        state.sync()
        events = [
            decode_update(update).object
            for update in self.log.updates(self.start, only={Kind.AUDIT_LOG})[1]
        ]
        return Model(
            {setting.name: setting.value for setting in state.snapshot().sorted(Kind.SETTING)},
            frozenset(
                schema.name
                for schema in state.snapshot().sorted(Kind.SCHEMA)
                if schema.database_id == 1
            ),
            tuple(event.object_name for event in sorted(events, key=lambda event: event.id)),
        )

    def stored(self) -> list[tuple[str, str, str]]:
        return sorted(
            (update.kind, update.key, update.value) for update in self.place.log().snapshot()[1]
        )


@pytest.fixture
def subjects(tmp_path: Path) -> list[Subject]:
    return [
        Subject(CatalogPlace(name, f"sqlite:///{tmp_path / name}.db", tmp_path / name))
        for name in ("stash", "persist")
        if not (tmp_path / name).mkdir()
    ]


@pytest.mark.timeout(24 * 3600)
def test_every_sequence_of_transactions_has_one_result(
    subjects: list[Subject], pytestconfig: pytest.Config
) -> None:
    @settings(
        max_examples=pytestconfig.getoption("--catalog-sequences"),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(ATTEMPTS, min_size=1, max_size=6))
    def law(attempts: list[Attempt]) -> None:
        for subject in subjects:
            subject.begin_anew()
        model = Model()
        followers = [
            (subject, subject.actors[0].subscribe_at(subject.actors[0].upper))
            for subject in subjects
        ]
        for attempt in attempts:
            [outcome] = {subject.attempt(attempt) for subject in subjects}
            if outcome == "committed":
                model = model.after(attempt.steps)
            elif outcome == "DuplicateObject":
                if not attempt.is_stale:
                    with pytest.raises(DuplicateObject):
                        model.after(attempt.steps)
            else:
                assert outcome == UpperMismatch.__name__
                assert attempt.is_stale
            assert [subject.holds() for subject in subjects] == [model, model]
        assert subjects[0].stored() == subjects[1].stored()
        for subject, follower in followers:
            assert followed(follower.poll) == subject.actors[0].sync().at(subject.actors[0].upper)

    law()


@dataclass(frozen=True)
class Compaction:
    """How many of the times so far it leaves readable."""

    times_left: int


HISTORIES = st.lists(
    st.one_of(STEPS, STEPS, st.builds(Compaction, st.integers(0, 4))), min_size=1, max_size=12
)

Answers = list[list[tuple[str, str, str, int]]]


def answers_of(log: CatalogLog, at: Timestamp) -> Answers:
    """What a log says at a time, and of the time from there on."""
    reads = [
        read
        for only in (None, APPEND_ONLY)
        for read in (log.snapshot(below=at, only=only), log.updates(at, only=only))
    ]
    return [sorted((u.kind, u.key, u.value, u.diff) for u in updates) for _, updates in reads]


@pytest.fixture
def compacted(tmp_path: Path) -> list[Subject]:
    """One of each implementation, and one that is never compacted."""
    return [
        Subject(
            CatalogPlace(name.partition(" ")[0], f"sqlite:///{tmp_path / name}.db", tmp_path / name)
        )
        for name in ("stash never compacted", *get_args(Implementation))
        if not (tmp_path / name).mkdir()
    ]


@pytest.mark.timeout(24 * 3600)
def test_a_compacted_catalog_answers_as_one_that_was_not(
    compacted: list[Subject], pytestconfig: pytest.Config
) -> None:
    """At every time from since on; at an earlier one it refuses. Whoever is behind finds the same
    catalog."""
    uncompacted, *compacted_logs = compacted
    for subject in compacted:
        subject.uppers = [subject.actors[0].upper]

    @settings(
        max_examples=pytestconfig.getoption("--catalog-sequences"),
        suppress_health_check=list(HealthCheck),
    )
    @given(HISTORIES)
    def law(history: list[Step | Compaction]) -> None:
        for subject in compacted:
            subject.begin_anew()
            subject.uppers.append(subject.start)
        for step in history:
            if isinstance(step, Compaction):
                for subject in compacted_logs:
                    subject.actors[0].compact(subject.uppers[-1 - step.times_left :][0])
            else:
                for subject in compacted:
                    subject.attempt(Attempt(0, (step,), is_stale=False, begins_anew="no"))
                    subject.uppers.append(subject.actors[0].upper)
        for subject in compacted_logs:
            since = subject.actors[0].since
            moments = list(zip(subject.uppers, uncompacted.uppers, strict=True))[-6:]
            for number, (at, same_moment) in enumerate(moments):
                log = subject.log if number % 2 else subject.place.log()  # that knows nothing yet
                if at < since:
                    with pytest.raises(NotReadable):
                        answers_of(log, at)
                else:
                    assert answers_of(log, at) == answers_of(uncompacted.log, same_moment)
            behind = subject.actors[1].sync()
            assert behind.at(behind.upper) == subject.actors[0].snapshot().at(behind.upper)

    law()


def followed(poll: Callable[[], Any]) -> CatalogSnapshot:
    """The snapshot that a subscription adds up to."""
    snapshot = CatalogSnapshot.empty()
    while (batch := poll()) is not None:
        snapshot = snapshot.apply(batch.changes, batch.upper)
    return snapshot.at(snapshot.upper)

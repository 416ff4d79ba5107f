"""Frontier groups, claims and holds against a plain model, under writers that race, sleep and are
fenced."""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHold, ReadHolds
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    ClaimConflict,
    Fenced,
    NotReadable,
    ReadHoldLost,
    ReclockError,
    SinceHeld,
    UpperMismatch,
)

GROUPS = st.sampled_from(["x", "y", "z"])
SOME_GROUPS = st.sets(GROUPS, min_size=1)
OWNERS = st.sampled_from(["a", "b"])
TIMES = st.integers(0, 12).map(Timestamp)
LEASES = st.integers(0, 5)
PAYLOADS = st.dictionaries(st.sampled_from(["phase", "staged"]), st.integers(0, 3))


@dataclass
class Group:
    since: int = 0
    upper: int = 0
    claim: Claim | None = None
    published: str | None = None


@dataclass
class Model:
    """What should be there. A step that is refused raises and leaves it as it was."""

    groups: dict[str, Group] = field(default_factory=lambda: {name: Group() for name in "xyz"})
    holds: dict[str, ReadHold] = field(default_factory=dict)
    now: int = 100

    def own(self, group: str, claim: Claim) -> Group:
        found = self.groups[group]
        if found.claim is None or found.claim.id != claim.id:
            raise ClaimConflict(group)
        return found

    def lasting(self) -> list[ReadHold]:
        return [
            hold
            for hold in self.holds.values()
            if hold.lease_until is None or hold.lease_until > self.now
        ]

    def held(self, group: str) -> int | None:
        return min((hold.at for hold in self.lasting() if group in hold.groups), default=None)


def test_frontiers_do_what_the_model_does(consensus_url: str) -> None:
    clock = [Timestamp(0)]
    consensus = Consensus.connect(consensus_url, clock=lambda: clock[0])
    epochs = iter(range(1, 1_000_000))
    runs = iter(range(1_000_000))

    class FrontierLaws(RuleBasedStateMachine):
        claims = Bundle("claims")
        holds = Bundle("holds")

        @initialize()
        def begin(self) -> None:
            self.model = Model()
            self.run = next(runs)
            self.actors: list[tuple[Leadership, Frontiers, ReadHolds]] = []
            self.new_epoch()
            for group in self.model.groups:
                self.frontiers().create(self.real(group), since=Timestamp(0), upper=Timestamp(0))

        def real(self, group: str) -> str:
            return f"{group}{self.run}"

        def frontiers(self) -> Frontiers:
            return self.actors[-1][1]

        @rule()
        def new_epoch(self) -> None:
            leadership = Leadership(next(epochs), 0)
            consensus.transact(lambda connection: fence.advance(connection, leadership))
            self.actors.append(
                (leadership, Frontiers(consensus, leadership), ReadHolds(consensus, leadership))
            )

        @rule(by=st.integers(0, 6))
        def time_passes(self, by: int) -> None:
            self.model.now += by

        @rule(target=claims, group=GROUPS, at=TIMES, owner=OWNERS, lease=LEASES, payload=PAYLOADS)
        def claim(
            self, group: str, at: Timestamp, owner: str, lease: int, payload: dict[str, int]
        ) -> Any:
            frontier = self.model.groups[group]

            def expected() -> None:
                if frontier.claim:
                    raise ClaimConflict(group)
                if at < frontier.upper:
                    raise UpperMismatch(group, expected=at, found=frontier.upper)

            claim = self.both(
                expected,
                lambda: self.frontiers().claim(
                    self.real(group), at=at, payload=payload, owner=owner, lease_ms=lease
                ),
            )
            if claim:
                assert (claim.at, claim.owner, claim.payload, claim.lease_until) == (
                    at,
                    owner,
                    payload,
                    self.model.now + lease,
                )
                frontier.claim = claim
            return group, claim

        @rule(target=claims, group=GROUPS, owner=OWNERS, lease=LEASES)
        def take_over(self, group: str, owner: str, lease: int) -> Any:
            frontier = self.model.groups[group]

            def expected() -> None:
                if (
                    frontier.claim
                    and frontier.claim.owner != owner
                    and self.model.now < frontier.claim.lease_until
                ):
                    raise ClaimConflict(group)

            before = frontier.claim
            claim = self.both(
                expected,
                lambda: self.frontiers().take_over(self.real(group), owner=owner, lease_ms=lease),
            )
            if claim:
                assert before is not None
                assert claim.id != before.id
                assert (claim.at, claim.payload, claim.owner) == (before.at, before.payload, owner)
                frontier.claim = claim
            return group, claim

        @rule(held=claims, payload=PAYLOADS, lease=LEASES)
        def amend(self, held: Any, payload: dict[str, int], lease: int) -> None:
            group, claim = held
            if claim:
                amended = self.both(
                    lambda: self.model.own(group, claim),
                    lambda: self.frontiers().amend(
                        self.real(group), claim, payload, lease_ms=lease
                    ),
                )
                if amended:
                    lease_until = Timestamp(self.model.now + lease)
                    self.model.groups[group].claim = replace(
                        claim, payload=payload, lease_until=lease_until
                    )
                    assert amended == self.model.groups[group].claim

        @rule(group=GROUPS, value=st.integers())
        def decide(self, group: str, value: int) -> None:
            frontier = self.model.groups[group]
            if frontier.claim:
                decided = self.frontiers().decide(
                    self.real(group), lambda payload: {**payload, "decision": value}
                )
                assert decided == replace(
                    frontier.claim,
                    id=decided.id,
                    payload={**frontier.claim.payload, "decision": value},
                )
                assert decided.id != frontier.claim.id
                frontier.claim = decided

        @rule(
            held=st.lists(claims, min_size=1, max_size=3, unique_by=lambda held: held[0]),
            by=st.integers(1, 3),
        )
        def publish(self, held: list[Any], by: int) -> None:
            claims = {group: claim for group, claim in held if claim}
            if not claims:
                return
            upper = Timestamp(max(claim.at for claim in claims.values()) + by)

            def expected() -> bool:
                for group, claim in claims.items():
                    if self.model.groups[group].published != claim.id:
                        self.model.own(group, claim)
                return True

            def actual() -> bool:
                self.frontiers().publish(
                    {self.real(group): claim for group, claim in claims.items()}, upper
                )
                return True

            if self.both(expected, actual):
                for group, claim in claims.items():
                    frontier = self.model.groups[group]
                    if frontier.claim and frontier.claim.id == claim.id:
                        frontier.upper, frontier.claim, frontier.published = upper, None, claim.id

        @rule(held=claims)
        def abandon(self, held: Any) -> None:
            group, claim = held
            if claim:
                owned = self.both(
                    lambda: self.model.own(group, claim),
                    lambda: self.frontiers().abandon(self.real(group), claim) or True,
                )
                if owned:
                    self.model.groups[group].claim = None

        @rule(groups=SOME_GROUPS, to=TIMES)
        def advance_idle(self, groups: set[str], to: Timestamp) -> None:
            complete = self.frontiers().advance_idle([self.real(group) for group in groups], to)
            for group in groups:
                frontier = self.model.groups[group]
                if frontier.claim is None:
                    frontier.upper = max(frontier.upper, to)
            assert complete == {
                self.real(group) for group in groups if self.model.groups[group].upper >= to
            }

        @rule(group=GROUPS, since=TIMES)
        def allow_compaction(self, group: str, since: Timestamp) -> None:
            frontier = self.model.groups[group]

            def expected() -> bool:
                if since > frontier.since:
                    if since > frontier.upper:
                        raise UpperMismatch(group, expected=since, found=frontier.upper)
                    held = self.model.held(group)
                    if held is not None and held < since:
                        raise SinceHeld(group, new_since=since, held_at=held)
                return True

            if self.both(
                expected, lambda: self.frontiers().allow_compaction(self.real(group), since) or True
            ):
                frontier.since = max(frontier.since, since)

        @rule(target=holds, groups=SOME_GROUPS, at=TIMES, lease=st.none() | LEASES)
        def hold(self, groups: set[str], at: Timestamp, lease: int | None) -> Any:
            def expected() -> None:
                for group in sorted(groups):
                    frontier = self.model.groups[group]
                    if at < frontier.since:
                        raise NotReadable(group, at=at, since=frontier.since, upper=frontier.upper)

            expected_outcome = [self.real(group) for group in groups]
            hold = self.both(
                expected,
                lambda: self.actors[-1][2].acquire(
                    expected_outcome, at, owner="reader", lease_ms=lease
                ),
            )
            if hold:
                self.model.holds[hold.id] = replace(hold, groups=frozenset(groups))
            return hold

        @rule(hold=holds, by=st.integers(0, 4), release=st.booleans())
        def move_hold(self, hold: ReadHold | None, by: int, release: bool) -> None:
            if hold is None:
                return
            if release:
                self.actors[-1][2].release(hold)
                self.model.holds.pop(hold.id, None)
                return
            present = self.model.holds.get(hold.id)
            at = Timestamp(hold.at + by)

            def expected() -> None:
                if present is None or present not in self.model.lasting() or present.at > at:
                    raise ReadHoldLost(hold.owner, at=hold.at)

            if self.both(expected, lambda: self.actors[-1][2].downgrade(hold, at)) and present:
                self.model.holds[hold.id] = replace(present, at=at)

        @rule(actor=st.integers(0, 3), group=GROUPS, to=TIMES)
        def a_fenced_actor_tries(self, actor: int, group: str, to: Timestamp) -> None:
            if actor < len(self.actors) - 1:
                _, frontiers, holds = self.actors[actor]
                assert isinstance(
                    outcome(lambda: frontiers.advance_idle([self.real(group)], to)), Fenced
                )
                assert isinstance(
                    outcome(lambda: frontiers.take_over(self.real(group), owner="a", lease_ms=1)),
                    Fenced,
                )
                assert isinstance(
                    outcome(lambda: holds.acquire([self.real(group)], to, owner="a", lease_ms=1)),
                    Fenced,
                )

        @invariant()
        def what_is_stored_is_the_models(self) -> None:
            if hasattr(self, "model"):
                clock[0] = Timestamp(self.model.now)
                stored = self.frontiers().get_all([self.real(group) for group in self.model.groups])
                for name, group in self.model.groups.items():
                    frontier = stored[self.real(name)]
                    assert (frontier.since, frontier.upper, frontier.claim) == (
                        group.since,
                        group.upper,
                        group.claim,
                    )
                    assert frontier.claim is None or frontier.claim.at >= frontier.upper
                real = [self.real(group) for group in self.model.groups]
                held = {
                    self.real(group): at
                    for group in self.model.groups
                    if (at := self.model.held(group)) is not None
                }
                assert self.actors[-1][2].earliest(real) == held
                assert all(
                    held.get(group, frontier.since) >= frontier.since
                    for group, frontier in stored.items()
                )

        def both(self, expected: Any, actual: Any) -> Any:
            """What the real thing answers; None if it refuses, as the model must then, and for the
            same reason."""
            clock[0] = Timestamp(self.model.now)
            expected_outcome, actual_outcome = outcome(expected), outcome(actual)
            if isinstance(expected_outcome, ReclockError) or isinstance(
                actual_outcome, ReclockError
            ):
                assert type(expected_outcome) is type(actual_outcome), (
                    expected_outcome,
                    actual_outcome,
                )
                return None
            return actual_outcome

    run_state_machine_as_test(
        FrontierLaws,
        settings=settings(
            max_examples=40, stateful_step_count=30, suppress_health_check=list(HealthCheck)
        ),
    )
    consensus.close()


def outcome(work: Any) -> Any:
    try:
        return work()
    except ReclockError as refused:
        return refused

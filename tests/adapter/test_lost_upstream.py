"""Decisions about a source whose upstream was made anew: none helps, and each says what does."""

from __future__ import annotations

from pathlib import Path

import pytest

from reclock.adapter.query.ways_out import ways_out
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.connectors.connector import Increment
from reclock.errors import (
    DecodeFailed,
    HeaderMismatch,
    InvalidOption,
    ObjectsUnreadable,
    SourceError,
    UpstreamChanged,
    UpstreamLost,
    UpstreamReplaced,
    UpstreamUnavailable,
)
from reclock.ingest.failures import decode_failure, encode_failure
from reclock.ingest.payload import Phase, Step
from reclock.runtime.environment import Environment

LOST = UpstreamLost(
    "0",
    5,
    message='partition 0 of topic "t" was deleted and created again',
    detail="its id was a, now b",
)


@pytest.mark.parametrize("decision", ["RETRY", "SKIP '0'", "SKIP '0' FROM 5 TO 6"])
def test_a_decision_that_changes_nothing_is_refused_with_what_helps(
    tmp_path: Path, decision: str
) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(
            session.execute("CREATE SOURCE k FROM KAFKA BROKER '127.0.0.1:1' TOPIC 't' FORMAT TEXT")
        )
        environment.control_plane.await_storage(environment.stores.planner_catalog())
        at = environment.stores.oracle.write_ts(EPOCH_MS)
        step = Step("u1", at, Phase.PROBING, error=encode_failure(LOST))
        claim = environment.stores.frontiers.claim(
            "u1", at=at, payload=step.to_payload(), owner="tick", lease_ms=0
        )
        with pytest.raises(InvalidOption) as refused:
            list(session.execute(f"ALTER SOURCE k {decision}"))
        assert str(refused.value) == f"no decision brings this back: {LOST.message}"
        assert refused.value.hint == "DROP the source and create it again"
        assert environment.stores.frontiers.get("u1").claim == claim
        logged = [event.details for event in environment.stores.catalog.get_audit_logs()]
        assert not any("decision" in details for details in logged)


@pytest.mark.parametrize(
    ("upstream", "reason"),
    [
        ("LOAD GENERATOR COUNTER", "only publications, topics and streams can be read anew"),
        (
            "KAFKA BROKER '127.0.0.1:1' TOPIC 't' END OFFSET (5) FORMAT TEXT",
            "its END OFFSET is one of the topic as it was",
        ),
    ],
)
def test_what_cannot_be_read_anew_is_refused(tmp_path: Path, upstream: str, reason: str) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute(f"CREATE SOURCE k FROM {upstream}"))
        with pytest.raises(
            InvalidOption, match=r'source "reclock\.public\.k" cannot be read anew'
        ) as refused:
            list(session.execute("ALTER SOURCE k RESNAPSHOT"))
        assert refused.value.detail == reason


@pytest.mark.parametrize(
    ("error", "ways"),
    [
        (LOST, []),
        (UpstreamUnavailable("the server does not answer"), []),
        (UpstreamReplaced("0", 5, message="m"), ["ALTER SOURCE k RESNAPSHOT"]),
        (
            UpstreamChanged("0", 5, message="m"),
            ["ALTER SOURCE k RETRY", "ALTER SOURCE k SKIP '0'"],
        ),
        (
            UpstreamChanged("0", 5, message="m", upper=9),
            ["ALTER SOURCE k RETRY", "ALTER SOURCE k SKIP '0' FROM 5 TO 9"],
        ),
        (
            UpstreamChanged("a#2", 0, message="m", restart="a"),
            ["ALTER SOURCE k RETRY", "ALTER SOURCE k RESTART 'a'", "ALTER SOURCE k SKIP 'a#2'"],
        ),
        (
            ObjectsUnreadable(
                [
                    UpstreamChanged("a#2", 0, message="m", restart="a"),
                    HeaderMismatch("b", detail="d"),
                ],
                count=2,
            ),
            [
                "ALTER SOURCE k RETRY",
                "ALTER SOURCE k RESTART 'a'",
                "ALTER SOURCE k SKIP 'a#2', 'b'",
            ],
        ),
    ],
)
def test_the_ways_out_are_the_statements_that_help(error: SourceError, ways: list[str]) -> None:
    step = Step("u1", Timestamp(5), Phase.PROBING, error=encode_failure(error))
    assert [way.statement for way in ways_out("k", step)] == ways


@pytest.mark.parametrize(
    ("claimed_upper", "skips"),
    [(9, ["SKIP '0' FROM 5 TO 6", "SKIP '0' FROM 5 TO 9"]), (6, ["SKIP '0' FROM 5 TO 6"])],
)
def test_a_record_that_does_not_decode_can_be_given_up_alone(
    claimed_upper: int, skips: list[str]
) -> None:
    error = DecodeFailed("0", 5, detail="d", unit="offset")
    claimed = Increment("0", 3, claimed_upper, claimed_upper - 3)
    step = Step("u1", Timestamp(5), Phase.BOUND, (claimed,), error=encode_failure(error))
    statements = [way.statement for way in ways_out("k", step)]
    assert statements == [f"ALTER SOURCE k {decision}" for decision in skips]


def test_a_record_that_can_be_corrected_can_be_read_again() -> None:
    error = DecodeFailed("0", 5, detail="d", unit="offset", remedy="register the schema")
    step = Step(
        "u1", Timestamp(5), Phase.BOUND, (Increment("0", 3, 6, 3),), error=encode_failure(error)
    )
    assert [way.name for way in ways_out("k", step)] == ["RETRY", "SKIP the record"]


@pytest.mark.parametrize(
    ("partition", "name"), [("1", "partition 1"), ("orders/o1.csv", "orders/o1.csv")]
)
def test_what_follows_says_that_a_number_is_a_partition(partition: str, name: str) -> None:
    error = DecodeFailed(partition, 5, detail="d", unit="offset")
    claimed = Increment(partition, 5, 9, 4)
    step = Step("u1", Timestamp(5), Phase.BOUND, (claimed,), error=encode_failure(error))
    record, rest = [way for way in ways_out("k", step) if way.name != "RETRY"]
    assert f"at offset 5 of {name} is never read" in record.follows
    assert f"Nothing of {name} from 5 to 9" in rest.follows


@pytest.mark.parametrize("kind", [UpstreamChanged, UpstreamLost, UpstreamReplaced])
def test_a_failure_comes_back_from_a_claim_as_it_was(kind: type[UpstreamChanged]) -> None:
    failure = kind("0", 5, message="m", detail="d", hint="h")
    found = decode_failure(encode_failure(failure))
    assert type(found) is kind
    assert (str(found), found.detail, found.hint, found.upper) == ("m", "d", "h", None)


def test_where_a_loss_ends_comes_back_from_a_claim() -> None:
    found = decode_failure(encode_failure(UpstreamChanged("0", 5, message="m", upper=2**200)))
    assert isinstance(found, UpstreamChanged)
    assert found.upper == 2**200


def test_an_error_about_many_objects_gives_up_the_first_hundred_of_them() -> None:
    failures = [HeaderMismatch(f"{number:03}.csv", detail="d") for number in range(120)]
    failure = ObjectsUnreadable.of(failures)
    assert isinstance(failure, ObjectsUnreadable)
    assert failure.message == '120 objects cannot be read, the first is "000.csv"'
    assert failure.detail is not None
    assert failure.detail.split("\n")[-1] == "and 100 more"
    assert failure.hint is not None
    assert "give the first 100 of them up with ALTER SOURCE … SKIP '000.csv'" in failure.hint
    assert failure.hint.endswith("'099.csv'")
    found = decode_failure(encode_failure(failure))
    assert isinstance(found, ObjectsUnreadable)
    assert (found.message, found.detail, found.hint) == (
        failure.message,
        failure.detail,
        failure.hint,
    )

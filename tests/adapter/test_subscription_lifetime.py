"""When a subscription begins, how long it lasts, and what ends it."""

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from fixtures.subscriptions import execute, fetch_all

from reclock.adapter.query import envelopes
from reclock.adapter.session.session import Session
from reclock.errors import (
    DroppedMeanwhile,
    EvaluationError,
    InvalidOption,
    NotReadable,
    QueryCanceled,
    StatementTimeout,
    TransactionActive,
)
from reclock.runtime.environment import Environment


def test_a_subscription_is_canceled_while_it_computes(
    subscriber: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = envelopes.cast_to

    def canceling(*arguments: Any) -> Any:
        subscriber.cancellation.cancel()
        return original(*arguments)

    monkeypatch.setattr(envelopes, "cast_to", canceling)
    execute(subscriber, "BEGIN")
    with pytest.raises(QueryCanceled):
        execute(subscriber, "DECLARE c CURSOR FOR SUBSCRIBE a")


def test_an_evaluation_error_ends_a_subscription(subscriber: Session, writer: Session) -> None:
    execute(subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE (SELECT 100 / n FROM a)")
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [(2, 5), (1, 10)]
    execute(writer, "INSERT INTO a VALUES (5, 0)")
    with pytest.raises(EvaluationError, match="division by zero"):
        fetch_all(subscriber, "c")


def test_a_snapshot_is_computed_no_faster_than_it_is_fetched(
    subscriber: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(
        subscriber,
        "CREATE TABLE big (i int); INSERT INTO big SELECT * FROM generate_series(1, 300000)",
    )
    sent: list[int] = []
    original = envelopes.messages

    def counted(*arguments: object) -> Iterator[pa.RecordBatch]:
        for batch in original(*arguments):  # type: ignore[arg-type]
            sent.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(envelopes, "messages", counted)
    execute(subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE big")
    assert [row[1:] for row in execute(subscriber, "FETCH 3 FROM c")] == [(1, 1), (1, 2), (1, 3)]
    assert len(sent) == 1
    assert len(execute(subscriber, "FETCH 299997 FROM c")) == 299997
    assert len(sent) > 1


def test_a_subscription_ends_at_up_to(subscriber: Session, writer: Session) -> None:
    execute(subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a")
    execute(writer, "INSERT INTO a VALUES (3, 30); INSERT INTO a VALUES (4, 40)")
    first, *_, third, fourth = fetch_all(subscriber, "c")
    execute(subscriber, "COMMIT")
    assert execute(subscriber, f"TAIL a WITHOUT SNAPSHOT AS OF {first[0]} UP TO {fourth[0]}") == [
        third
    ]
    assert execute(subscriber, "SUBSCRIBE (VALUES (1), (1), (2))") == [(0, 2, 1), (0, 1, 2)]
    with pytest.raises(InvalidOption):
        execute(subscriber, "SUBSCRIBE a UP TO 5")


def test_a_subscription_outlives_the_statement_timeout_and_can_be_canceled(
    subscriber: Session, writer: Session
) -> None:
    execute(subscriber, "SET statement_timeout = 2000")
    [result] = subscriber.execute("SUBSCRIBE a")
    rows = result.rows()
    assert sorted(next(rows)[1:] for _ in range(2)) == [(1, 1, 10), (2, 2, 20)]
    threading.Timer(2.5, subscriber.cancellation.cancel).start()
    with pytest.raises(QueryCanceled):
        next(rows)
    execute(subscriber, "RESET statement_timeout; BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a")
    assert len(execute(subscriber, "FETCH 1 FROM c")) == 1
    assert len(execute(subscriber, "FETCH 5 FROM c")) == 1
    execute(subscriber, "SET statement_timeout = 2000")
    with pytest.raises(StatementTimeout):  # that of FETCH
        execute(subscriber, "FETCH 5 FROM c")


def test_a_subscription_holds_its_inputs_readable_until_it_ends(
    subscriber: Session, environment: Environment
) -> None:
    execute(subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a")
    environment.stores.shared_holds.release_idle(["tables"])
    assert environment.stores.holds.earliest_read("tables") is not None
    execute(subscriber, "CLOSE c")
    environment.stores.shared_holds.release_idle(["tables"])
    assert environment.stores.holds.earliest_read("tables") is None


def test_a_subscription_ends_when_its_input_is_dropped(
    subscriber: Session, writer: Session
) -> None:
    execute(subscriber, "CREATE VIEW v AS SELECT n FROM a; BEGIN; DECLARE c CURSOR FOR SUBSCRIBE v")
    execute(subscriber, "FETCH 5 FROM c")
    execute(writer, "DROP VIEW v")
    with pytest.raises(DroppedMeanwhile):
        fetch_all(subscriber, "c")


@pytest.mark.parametrize(
    "before", ["INSERT INTO a VALUES (1, 1)", "CREATE VIEW w AS SELECT 1 AS x"]
)
def test_a_subscription_cannot_begin_in_a_block_that_changes_something(
    subscriber: Session, before: str
) -> None:
    with pytest.raises(TransactionActive):
        execute(subscriber, f"BEGIN; {before}; DECLARE c CURSOR FOR SUBSCRIBE a")


def test_a_time_before_since_is_refused_with_the_name_of_the_relation(subscriber: Session) -> None:
    with pytest.raises(NotReadable) as raised:
        execute(subscriber, "SUBSCRIBE a AS OF 1")
    assert raised.value.message == '"reclock.public.a" cannot be read at 1'

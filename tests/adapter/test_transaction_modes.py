"""The modes of transactions: how a block reads, whether it may write, and until when that may
change."""

from collections.abc import Callable

import pytest
from fixtures.sessions import last_answer as run

from reclock.adapter.session.session import Session
from reclock.errors import TransactionModeFixed, TransactionReadOnly


@pytest.fixture
def ada(new_session: Callable[[], Session]) -> Session:
    session = new_session()
    run(session, "CREATE TABLE a (id int NOT NULL, n int); INSERT INTO a VALUES (1, 10)")
    return session


def test_the_isolation_level_of_a_block_is_its_own(ada: Session) -> None:
    run(ada, "START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY")
    assert run(ada, "SHOW transaction_isolation") == [("serializable",)]
    run(ada, "COMMIT; BEGIN ISOLATION LEVEL READ COMMITTED")
    assert run(ada, "SHOW transaction_isolation") == [("read committed",)]


def test_a_level_that_is_shown_can_be_set_again(ada: Session) -> None:
    for level in ("SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED"):
        run(ada, f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
        assert run(ada, "SHOW TRANSACTION ISOLATION LEVEL") == [(level.lower(),)]
    run(ada, "RESET transaction_isolation")
    assert run(ada, "SHOW transaction_isolation") == [("strict serializable",)]
    assert run(ada, "SHOW TRANSACTION ISOLATION LEVEL") == [("read committed",)]
    run(ada, "BEGIN; SELECT * FROM a; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; COMMIT")


@pytest.mark.parametrize(
    ("level", "is_strict"),
    [
        ("SERIALIZABLE", False),
        ("READ UNCOMMITTED", True),
        ("READ COMMITTED", True),
        ("REPEATABLE READ", True),
    ],
)
def test_only_serializable_is_not_strict(ada: Session, level: str, is_strict: bool) -> None:
    run(ada, f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
    explained = "\n".join(str(row[0]) for row in run(ada, "EXPLAIN TIMESTAMP FOR SELECT * FROM a"))
    assert ("strict serializable" in explained) is is_strict


def test_a_read_only_block_writes_nothing(ada: Session) -> None:
    run(ada, "BEGIN READ ONLY")
    with pytest.raises(TransactionReadOnly):
        run(ada, "TRUNCATE a")


def test_a_session_says_once_how_its_transactions_read(ada: Session) -> None:
    assert run(ada, "SHOW transaction_read_only") == [("off",)]
    assert (
        run(
            ada,
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
        )
        == "SET"
    )
    assert (
        run(ada, "SHOW default_transaction_read_only")
        == run(ada, "SHOW transaction_read_only")
        == [("on",)]
    )
    assert run(ada, "SHOW transaction_isolation") == [("serializable",)]
    for statement in (
        "INSERT INTO a VALUES (5, 5)",
        "CREATE TABLE z (x int)",
        "BEGIN; DELETE FROM a",
    ):
        with pytest.raises(TransactionReadOnly):
            run(ada, statement)
    run(ada, "ROLLBACK; BEGIN READ WRITE; INSERT INTO a VALUES (5, 5); COMMIT")
    run(ada, "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE; DELETE FROM a WHERE id = 5")
    assert run(ada, "SELECT count(*) FROM a") == [(1,)]


@pytest.mark.parametrize(
    "change",
    [
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET transaction_isolation = 'serializable'",
        "SET TRANSACTION READ WRITE",
        "SET transaction_read_only = off",
    ],
)
@pytest.mark.parametrize("first", ["SELECT count(*) FROM a", "INSERT INTO a VALUES (5, 5)"])
def test_a_block_that_has_read_or_written_keeps_its_modes(
    ada: Session, change: str, first: str
) -> None:
    access = "READ WRITE" if first.startswith("INSERT") else "READ ONLY"
    run(ada, f"BEGIN {access}; {first}")
    if access == "READ WRITE" and "ISOLATION" not in change.upper():
        run(ada, change)  # it is so already
    else:
        with pytest.raises(TransactionModeFixed):
            run(ada, change)
    run(ada, f"ROLLBACK; BEGIN {access}; {change}; SELECT count(*) FROM a; {change}; COMMIT")


def test_a_block_that_has_read_may_still_give_up_writing(ada: Session) -> None:
    run(ada, "BEGIN; SELECT count(*) FROM a; SET TRANSACTION READ ONLY")
    with pytest.raises(TransactionReadOnly):
        run(ada, "INSERT INTO a VALUES (5, 5)")


def test_a_block_may_still_say_that_it_only_reads(ada: Session) -> None:
    for words in (
        "SET TRANSACTION READ ONLY",
        "SET transaction_read_only = on",
        "SET TRANSACTION NOT DEFERRABLE, READ ONLY",
    ):
        run(ada, f"BEGIN; {words}")
        assert run(ada, "SHOW transaction_read_only") == [("on",)]
        with pytest.raises(TransactionReadOnly):
            run(ada, "INSERT INTO a VALUES (5, 5)")
        run(ada, "ROLLBACK")
        assert run(ada, "SHOW transaction_read_only") == [("off",)]
    # as without a block, with a notice
    assert run(ada, "SET TRANSACTION READ ONLY; INSERT INTO a VALUES (5, 5)") == "INSERT 0 1"

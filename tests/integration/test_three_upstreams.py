"""Money between PostgreSQL, Debezium's topics and objects: what commits together is never seen
apart, the rest is as it must be."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.kafka import Broker
from fixtures.postgres import PASSWORD, PostgresServer
from histories.upstreams import Bank

from reclock.runtime.environment import Environment

pytestmark = pytest.mark.spark


def test_one_money_in_three_upstreams(
    kafka: Broker,
    postgres_server: PostgresServer,
    new_postgres_url: Callable[[], str],
    spark: Any,
    tmp_path: Path,
) -> None:
    passfile = tmp_path / "passfile"
    passfile.write_text(f"*:*:*:*:{PASSWORD}")
    passfile.chmod(0o600)
    dsn = postgres_server.dsn(new_postgres_url().rsplit("/", 1)[1])
    with Environment.initialise(tmp_path / "home", spark=spark) as environment:
        bank = Bank(environment, kafka, dsn, passfile, random.Random(3))
        checked = bank.run(rounds=2, transfers=40, times=12)
        bank.sql("DROP SOURCE pg CASCADE")
    assert checked.reads["joined"] == 12
    assert min(checked.reads["publication"], checked.reads["topics"]) > 2
    assert len(checked.states) > 2

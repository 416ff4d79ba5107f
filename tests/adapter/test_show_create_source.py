"""The text of a source: executed again, it makes the same source, with subsources of the same
names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

SOURCES = {
    "a connector of transactions": (
        "CREATE SOURCE bank FROM KAFKA CONNECTION k (TRANSACTION TOPIC "
        "'bank.transaction') FORMAT JSON ENVELOPE DEBEZIUM"
        " FOR TABLES (public.accounts (id int NOT NULL), public.loans AS debts (id int NOT NULL))",
        "public.loans AS reclock.public.debts (",
    ),
    "a load generator": (
        "CREATE SOURCE bank FROM LOAD GENERATOR AUCTION FOR TABLES (bids, users AS debts)",
        "FOR TABLES (bids, users AS reclock.public.debts)",
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_text_keeps_the_names_of_subsources(tmp_path: Path, kind: str) -> None:
    text, part = SOURCES[kind]
    with Environment.initialise(tmp_path) as environment:

        def sql(text: str) -> list[tuple[Any, ...]]:
            return [row for result in Session(environment).execute(text) for row in result.rows()]

        sql("CREATE CONNECTION k TO KAFKA (BROKER '127.0.0.1:1') WITH (VALIDATE = false)")
        sql(text)
        [(_, created)] = sql("SHOW CREATE SOURCE bank")
        assert part in created
        names = sql("SELECT name FROM mz_sources WHERE id LIKE 'u%' ORDER BY name")
        assert ("debts",) in names
        sql("DROP SOURCE bank CASCADE")
        sql(created)
        assert sql("SHOW CREATE SOURCE bank") == [("reclock.public.bank", created)]
        assert sql("SELECT name FROM mz_sources WHERE id LIKE 'u%' ORDER BY name") == names

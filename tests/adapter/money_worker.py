"""One of several processes over tables of accounts: it moves money between them, or sums it at times of its choice."""

from __future__ import annotations

import json
import random
import sys

from reclock.adapter.session import Session
from reclock.algebra.timestamps import EPOCH_MS
from reclock.environment import Environment
from reclock.errors import WriteConflict

TABLES = ("ada", "bob", "eve")
SUM = "SELECT sum(n) FROM (SELECT n FROM ada UNION ALL SELECT n FROM bob UNION ALL SELECT n FROM eve) x"


def main(home: str, role: str, seed: int, count: int) -> object:
    chance = random.Random(seed)
    with Environment.open(home) as environment:
        session = Session(environment)
        print("ready", flush=True)
        sys.stdin.readline()
        return (move if role == "move" else read)(session, chance, count)


def move(session: Session, chance: random.Random, count: int) -> dict[str, int]:
    """Transfers in blocks: of an amount, or of all that an account has."""
    found = {"moved": 0, "conflicts": 0}
    for _ in range(count):
        source, target = chance.sample(TABLES, 2)
        amount = chance.randrange(1, 20)
        change = [f"UPDATE {source} SET n = n - {amount} WHERE id = 1", f"UPDATE {target} SET n = n + {amount} WHERE id = 2"]
        if chance.random() < 0.3:
            all_of_it = f"(SELECT n FROM {source} WHERE id = 2)"
            change = [f"UPDATE {target} SET n = n + {all_of_it} WHERE id = 1", f"DELETE FROM {source} WHERE id = 2"]
            change += [f"INSERT INTO {source} VALUES (2, 0)"]
        list(session.execute(f"BEGIN; {'; '.join(change)}"))
        try:
            list(session.execute("COMMIT"))
            found["moved"] += 1
        except WriteConflict:
            found["conflicts"] += 1
    return found


def read(session: Session, chance: random.Random, count: int) -> list[int]:
    """Sums: as they are now, and as of random times since the beginning."""
    oracle = session.environment.oracle
    first = oracle.read_ts(EPOCH_MS)
    sums = []
    for _ in range(count):
        at = chance.randrange(first, oracle.read_ts(EPOCH_MS) + 1)
        text = SUM if chance.random() < 0.3 else f"{SUM} AS OF {at}"
        sums += [int(total) for result in session.execute(text) for (total,) in result.rows()]  # type: ignore[union-attr]
    return sums


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))

"""The stores of an environment as files, to be copied and put back."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path


def copy_consensus(home: Path, to: Path) -> None:
    with sqlite3.connect(home / "consensus.db") as source, sqlite3.connect(to) as target:
        source.backup(target)


def lose_consensus(home: Path) -> None:
    for name in ("consensus.db", "consensus.db-wal", "consensus.db-shm"):
        (home / name).unlink(missing_ok=True)


def put_back_consensus(home: Path, saved: Path) -> None:
    lose_consensus(home)
    shutil.copy(saved, home / "consensus.db")

"""Makes the archive of a release for ``releases/``: run it with the code of that release.

    PYTHONPATH=tests python -m stores.make_release catalog_v9.tar.gz

The environment in it was killed in the middle of a tick, after a sink had claimed its range. If the
release does not have this module, copy it and ``release_objects.sql`` there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from fixtures.postgres import PASSWORD, PostgresServer, running

import reclock

MADE_IN = "/tmp/reclock-release"
KILLED_AT = "sinks.emit.after_claim"
OBJECTS = Path(__file__).with_name("release_objects.sql")
CHANGES = (
    "UPDATE orders SET price = price * 2 WHERE id = 2",
    "DELETE FROM customers WHERE id = 3",
    "INSERT INTO orders VALUES (5, 3, 1.00, 9.99, 0.5, NULL, '2026-02-03', '1 year', '{c}')",
)


def make(home: Path, server: PostgresServer) -> None:
    """An environment at ``home``, and the tables of its PostgreSQL sink in ``target.sql``."""
    (home / "reclock.toml").write_text("claim_lease_ms = 1000\n")
    with reclock.connect(home, create=True) as client:
        client.sql(f"CREATE SECRET password AS '{PASSWORD}'")
        client.sql(
            f"CREATE CONNECTION shop TO POSTGRES (HOST '127.0.0.1', PORT {server.port}, "
            "DATABASE 'postgres', USER 'postgres', PASSWORD SECRET password)"
        )
        statements = [
            line for line in OBJECTS.read_text().splitlines() if not line.startswith("--")
        ]
        for statement in "\n".join(statements).split(";\n"):
            if statement.strip():
                client.sql(statement)
        client.tick()
        for change in CHANGES:
            client.sql(change)
    killed = subprocess.run(
        [sys.executable, "-m", "reclock.cli", "tick"],
        env=os.environ | {"RECLOCK_HOME": str(home), "RECLOCK_FAILPOINT": KILLED_AT},
    )
    assert killed.returncode == -9, killed.returncode
    dump = [str(server.bin / "pg_dump"), "--inserts", "--no-owner", "-d", server.dsn()]
    target = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    # psql's own commands are no SQL
    lines = [line for line in target.splitlines() if not line.startswith("\\")]
    (home / "target.sql").write_text("\n".join(lines))


def main(archive: str) -> None:
    home = Path(MADE_IN)
    home.mkdir()
    try:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
            make(home, server)
        with tarfile.open(archive, "w:gz") as out:
            out.add(home, ".")
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main(sys.argv[1])

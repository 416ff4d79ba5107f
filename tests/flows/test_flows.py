"""Every transcript answers what it says. ``pytest tests/flows --rewrite`` writes what is answered
now."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from fixtures.sunk import delta_rows
from flows.transcript import replay

from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import Timestamp
from reclock.cli.output import Format, error_lines, print_result
from reclock.controllers.subscribes import ReportedReplicas
from reclock.errors import ReclockError
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

FLOWS = sorted(Path(__file__).parent.glob("*.flow"))
STARTED_AT = 1_000


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_transcript(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch
) -> None:
    monkeypatch.setenv("RECLOCK_STATEMENT_TIMEOUT_MS", "30000")
    now = [STARTED_AT]
    bucket = tmp_path / "buckets" / "bucket"
    bucket.mkdir(parents=True)
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(now[0])) as environment:
        printed = io.StringIO()
        session = Session(environment, lambda message: print("NOTICE: ", message, file=printed))

        replicas = ReportedReplicas(
            environment.control_plane.reported_replicas,
            environment.runtime.collection_manager,
            "flow",
            environment.stores.clock,
        )

        def sql(text: str) -> str:
            printed.seek(0)
            printed.truncate()
            try:
                for result in session.execute(text):
                    assert isinstance(result, Result)
                    print_result(result, Format.TABLE, to=printed)
            except ReclockError as error:
                printed.write("\n".join(error_lines(error)) + "\n")
            return printed.getvalue()

        def command(words: list[str], body: str) -> str:
            match words:
                case ["put", key]:
                    (bucket / key).parent.mkdir(parents=True, exist_ok=True)
                    (bucket / key).write_text(body)
                case ["append", key]:
                    with (bucket / key).open("a") as file:
                        file.write(body)
                case ["remove", key]:
                    (bucket / key).unlink()
                case ["delta", table]:
                    rows = delta_rows(tmp_path / "sinks" / table)
                    return "\n".join(sorted(str(row) for row in rows.elements()))
                case ["tick", at, *only]:
                    now[0] = int(at)
                    report = tick.run(environment, only=only or None, at=int(at), owner="flow")
                    return report.summary().replace(str(tmp_path), "HOME")
                case ["explain", "tick", *only]:
                    return "\n".join(tick.explain(environment.stores, only or None))
                case ["report"]:
                    replicas.step()
                    environment.runtime.collection_manager.flush()
                case _:
                    raise ValueError(f"unknown command {words}")
            return ""

        answered = replay(path, sql, command)
    if request.config.getoption("--rewrite"):
        path.write_text(answered)
    assert answered == path.read_text()

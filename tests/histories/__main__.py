"""Many histories: ``PYTHONPATH=tests python -m histories tables --histories 500``. Ends with 1 if
one of them cannot be explained.

With ``--planted NAME`` a bug is planted into every process, and it ends with 1 unless a history
finds it. ``--keep FOLDER`` writes each history as JSON, for ``porcupine/``.
"""

from __future__ import annotations

import argparse
import collections
import json
import shutil
import sys
import tempfile
import time
import uuid
from pathlib import Path


def main() -> int:
    from fixtures.postgres import running
    from histories.linearizability import NO_ORDER, UNDECIDED

    options = _options()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    totals: collections.Counter[str] = collections.Counter()
    folder = Path(tempfile.mkdtemp(prefix="reclock-histories-"))
    postgres = folder / "postgres"
    postgres.mkdir()
    folder.chmod(0o755)
    with running(postgres) as server:
        for seed in range(options.seed, options.seed + options.histories):
            database = f"history_{uuid.uuid4().hex}"
            server.execute(f"CREATE DATABASE {database}")
            home = folder / str(seed)
            began = time.monotonic()
            operations, violations = _history(options, server.url(database), seed, home)
            totals.update(histories=1, operations=len(operations), violated=bool(violations))
            totals.update(unknown=sum(operation.returned is None for operation in operations))
            print(
                f"{seed}: {len(operations)} operations, {time.monotonic() - began:.1f} s",
                *violations,
                sep="\n  ",
                flush=True,
            )
            if options.keep:
                text = json.dumps(
                    [
                        [
                            operation.began,
                            operation.returned,
                            type(operation.call).__name__,
                            operation.call,
                        ]
                        for operation in operations
                    ]
                )
                verdict = "unordered" if NO_ORDER in violations else "ordered"
                (options.keep / f"{options.kind}-{seed}-{verdict}.json").write_text(text)
            if options.planted and any(
                not violation.startswith(UNDECIDED) for violation in violations
            ):
                break
            if not violations:
                shutil.rmtree(home, ignore_errors=True)
            server.execute(f"DROP DATABASE {database} WITH (FORCE)")
    print(dict(totals))
    return int(bool(totals["violated"]) != bool(options.planted))


def _history(
    options: argparse.Namespace, url: str, seed: int, home: Path
) -> tuple[list, list[str]]:
    from histories import oracle, tables

    if options.kind == "oracle":
        history = oracle.run(url, seed, options.operations, options.planted)
        return history, oracle.violations(history)
    seen = tables.run(home, url, seed, options.operations, options.planted)
    return seen.operations, tables.violations(seen)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="histories", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=["tables", "oracle"])
    parser.add_argument("--histories", type=int, default=20)
    parser.add_argument("--operations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first history")
    parser.add_argument("--planted", help="the name of a bug in planted.py")
    parser.add_argument("--keep", type=Path, help="a folder for the histories")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

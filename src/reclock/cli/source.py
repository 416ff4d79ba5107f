"""``reclock source``: commands about one source."""

from __future__ import annotations

from typing import Annotated

import typer

from reclock.cli.edge import Home, Json, errors_on_stderr

app = typer.Typer(no_args_is_help=True, help="Inspect sources.")


@app.callback()
def main() -> None:
    """Inspect sources."""


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="name of the source, qualified or not")],
    home: Home = None,
    timeout: Annotated[str, typer.Option(help="how long the upstream may take to answer")] = "60s",
    is_json: Json = False,
) -> None:
    """Check that the upstream of a source can be reached with its credentials, and name what is
    missing.

    Exit code 1 if anything is missing.
    """
    from reclock.adapter.statements.sources.check import check_source
    from reclock.cli.loop import seconds
    from reclock.cli.output import print_json
    from reclock.runtime.environment import Environment

    failures = 0
    with errors_on_stderr(), Environment.open(home) as environment:
        for result in check_source(environment, name, timeout_s=seconds(timeout)):
            failures += not result.ok
            if is_json:
                print_json({"what": result.name, "is_fine": result.ok, "seen": result.detail})
                continue
            print(
                f"{'ok     ' if result.ok else 'MISSING'}  {result.name}: {result.detail}",
                flush=True,
            )
    raise typer.Exit(1 if failures else 0)

"""``reclock catalog``: dump the durable catalog, repair it by hand, check an upgrade, convert
it."""

from __future__ import annotations

import getpass
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reclock.cli.edge import Home, errors_on_stderr
from reclock.sql.catalog_builder import build_catalog

if TYPE_CHECKING:
    from reclock.catalog.snapshot import CatalogSnapshot
    from reclock.runtime.environment import Environment
    from reclock.sql.catalog.entries import QuarantinedEntry

app = typer.Typer(
    no_args_is_help=True,
    help="Dump the durable catalog, repair it by hand, check an upgrade, convert it.",
)

Kind = Annotated[
    str, typer.Argument(metavar="KIND", help="kind of the object, as the dump names it")
]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help='the "key" of the object, JSON as in the dump')
]
User = Annotated[
    str, typer.Option(help="user to record in the audit log", show_default="the user of the system")
]


class Implementation(StrEnum):
    STASH = "stash"
    PERSIST = "persist"


@app.command()
def dump(
    home: Home = None,
    target: Annotated[
        Path | None, typer.Option(help="write to this file instead of standard output")
    ] = None,
) -> None:
    """Print the whole catalog as JSON, of any version, even if it is broken, beside a live
    environment."""
    from reclock.runtime.environment import Environment

    with errors_on_stderr(), Environment.unopened(home) as environment:
        text = environment.stores.catalog.dump() + "\n"
    if target is None:
        sys.stdout.write(text)
    else:
        target.write_text(text, encoding="utf-8")


@app.command()
def edit(
    kind: Kind,
    key: Key,
    value: Annotated[
        str,
        typer.Argument(metavar="VALUE", help='the new "value" of the object, JSON as in the dump'),
    ],
    home: Home = None,
    user: User = "",
) -> None:
    """Store one object by hand.

    Raises the epoch, which fences a live environment, and records the change in the audit log."""
    _repair(home, kind, key, value, user)


@app.command()
def delete(kind: Kind, key: Key, home: Home = None, user: User = "") -> None:
    """Delete one object by hand.

    Raises the epoch, which fences a live environment, and records the change in the audit log."""
    _repair(home, kind, key, None, user)


@app.command("upgrade-check")
def upgrade_check(
    home: Home = None,
    cluster_replica_sizes: Annotated[
        Path | None, typer.Option(help="JSON file that must define every size in use")
    ] = None,
) -> None:
    """Check that this version of Reclock could open the catalog; exit code 1 if it could not.

    Changes nothing, and works beside a live environment."""
    from reclock.catalog.debug import check_upgrade
    from reclock.cli.output import print_notice
    from reclock.clusters.sizes import load_sizes
    from reclock.errors import CatalogError
    from reclock.runtime.environment import Environment
    from reclock.runtime.system_relations import SYSTEM_OBJECTS

    with errors_on_stderr():
        sizes = None if cluster_replica_sizes is None else load_sizes(cluster_replica_sizes)
        with Environment.unopened(home) as environment:
            snapshot = check_upgrade(environment.stores.catalog, SYSTEM_OBJECTS, sizes)
            broken = _quarantined(environment, snapshot)
        for entry in broken:
            print_notice(f"{entry.refusal.message}: {entry.reason}")
        if broken:
            raise CatalogError(
                f"{len(broken)} objects would be quarantined", hint=broken[0].refusal.hint
            )
        print(f"the catalog can be opened as version {snapshot.config('version')}")


@app.command()
def convert(
    to: Annotated[Implementation, typer.Option(help="implementation that the catalog moves to")],
    home: Home = None,
    user: User = "",
) -> None:
    """Move the catalog to another implementation.

    Fences a live environment. If it is interrupted, run it again."""
    from reclock.catalog.convert import convert_catalog
    from reclock.runtime.environment import Environment

    with errors_on_stderr(), Environment.unopened(home) as environment:
        converted = convert_catalog(
            to.value,
            environment.stores.settings,
            environment.stores.consensus,
            oracle=environment.stores.oracle,
            user=user or getpass.getuser(),
            occurred_at=environment.stores.clock(),
        )
        if converted is None:
            print(f"the catalog is kept in {to} already")
        else:
            print(f"the catalog is kept in {to} now, at epoch {converted.epoch}")


def _repair(home: Path | None, kind: str, key: str, value: str | None, user: str) -> None:
    from reclock.catalog import debug
    from reclock.cli.output import print_notice
    from reclock.runtime.environment import Environment
    from reclock.runtime.system_relations import SYSTEM_OBJECTS

    with errors_on_stderr(), Environment.unopened(home) as environment:
        repaired = debug.edit(
            environment.stores.catalog,
            kind,
            key,
            value,
            user=user or getpass.getuser(),
            occurred_at=environment.stores.clock(),
        )
        print(
            f"{kind} {key} is {'deleted' if value is None else 'stored'}, at epoch {repaired.epoch}"
        )
        if repaired.problem is not None:
            print_notice(
                f"the catalog cannot be opened yet: {repaired.problem.message}: "
                f"{repaired.problem.detail}"
            )
            return
        for entry in _quarantined(
            environment, environment.stores.catalog.check_open(SYSTEM_OBJECTS)
        ):
            print_notice(f"{entry.refusal.message}: {entry.reason}")


def _quarantined(environment: Environment, snapshot: CatalogSnapshot) -> list[QuarantinedEntry]:
    """The items of ``snapshot`` that cannot be planned."""
    from reclock.runtime.system_relations import system_entries
    from reclock.sql.catalog.entries import PlannerSettings

    settings = PlannerSettings(
        tuple(environment.stores.replica_sizes), environment.stores.settings.experimental_mode
    )
    return build_catalog(snapshot, system_entries(snapshot), settings=settings).quarantined()

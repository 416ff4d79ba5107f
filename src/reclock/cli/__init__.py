"""The command ``reclock``. Each subcommand opens an environment, calls one function, prints the
result."""

from __future__ import annotations

import gc
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from reclock.cli.catalog import app as catalog_app
from reclock.cli.edge import Home, Json, errors_on_stderr
from reclock.cli.source import app as source_app

# Modules and plans are many objects that live long: collecting garbage as often as Python does by
# default takes a sixth of a command's start.
gc.set_threshold(50_000, 20, 50)

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, help="Puts a lakehouse on one clock."
)

app.add_typer(catalog_app, name="catalog")
app.add_typer(source_app, name="source")


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"reclock {version('reclock')}")
        raise typer.Exit


@app.callback()
def log_to_stderr(
    _: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="print the version and exit"
        ),
    ] = False,
) -> None:
    """Puts a lakehouse on one clock."""
    from reclock.config import Settings
    from reclock.config.logs import configure_logging

    with errors_on_stderr():
        settings = Settings.load()
    configure_logging(settings)


@app.command()
def init(
    home: Home = None,
    accept_loss: Annotated[
        bool,
        typer.Option(
            "--accept-loss",
            help="open the stores although one was lost or put back to an earlier time",
        ),
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="let a restored copy tick, in the place of the environment that was backed up",
        ),
    ] = False,
) -> None:
    """Create an environment: settings, consensus, catalog. Changes nothing if it already exists."""
    from reclock.consensus.leadership import identity
    from reclock.runtime.environment import Environment

    with errors_on_stderr(), Environment.initialise(home, accept_loss=accept_loss) as environment:
        if take_over:
            environment.stores.consensus.transact(identity.take_over)
        mark = environment.stores.mark
        print(
            f"environment {environment.stores.settings.home.absolute()} is at epoch "
            f"{environment.stores.leadership.epoch}"
        )
        print(f"its id is {mark.id}, its catalog is kept in {mark.catalog}")


@app.command()
def jars() -> None:
    """Fetch the pinned Spark jars that are missing, and archive the classes of a session."""
    with errors_on_stderr():
        from reclock.clusters import class_archive, class_archive_writer
        from reclock.clusters import jars as spark_jars

        folder = spark_jars.default_folder()
        fetched = spark_jars.fetch(folder, spark_jars.pinned())
        print(
            f"{len(fetched)} jars fetched into {folder}" if fetched else f"all jars are in {folder}"
        )
        if fetched or not class_archive.path(folder).exists():
            print("archiving the classes that Spark loads, which takes a minute", flush=True)
            class_archive_writer.write(folder)


@app.command()
def tick(
    home: Home = None,
    every: Annotated[
        str,
        typer.Option(help="time from tick to tick, such as 1s, 500ms or 5m; one tick if absent"),
    ] = "",
    count: Annotated[int | None, typer.Option(min=1, help="stop after this many ticks")] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="only these sources; repeat for several")
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            help="write timestamp of one tick, in milliseconds, instead of the oracle's next"
        ),
    ] = None,
    is_explained: Annotated[
        bool, typer.Option("--explain", help="only show what a tick would do, stage by stage")
    ] = False,
    is_json: Json = False,
) -> None:
    """Publish what is new in the sources, refresh indexes and emit sinks, once or repeatedly."""
    from reclock.cli.loop import explain_tick, run_ticks

    with errors_on_stderr():
        if is_explained:
            explain_tick(home, only=source)
            return
        failed = run_ticks(home, every=every, count=count, only=source, at=at, is_json=is_json)
    raise typer.Exit(1 if failed else 0)


@app.command()
def backfill(
    source: Annotated[
        str,
        typer.Argument(
            help="name of a source; it must have been created WITH (START …), unless --rebuild"
        ),
    ],
    home: Home = None,
    begin: Annotated[
        str,
        typer.Option(
            "--from", help="start of the first interval; if absent, where the source's history ends"
        ),
    ] = "",
    end: Annotated[
        str, typer.Option("--to", help="latest end of the last interval; if absent, now")
    ] = "",
    every: Annotated[str, typer.Option(help="length of an interval, such as 1d, 6h or 15m")] = "1d",
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="read everything bound again: the same rows at the same times"
        ),
    ] = False,
    is_json: Json = False,
) -> None:
    """Ingest the history of a source interval by interval, oldest first.

    Intervals that it already has do not change."""
    from reclock.cli.backfill import run_backfill, run_rebuild

    with errors_on_stderr():
        if rebuild:
            run_rebuild(home, source, is_json=is_json)
            return
        run_backfill(home, source, begin=begin, end=end, every=every, is_json=is_json)


@app.command()
def status(
    home: Home = None,
    every: Annotated[
        str, typer.Option(help="time from screen to screen, such as 2s, until ^C; one if absent")
    ] = "",
    is_json: Json = False,
) -> None:
    """Show objects, what holds them back, errors with their ways out, and replicas.

    Exit code 1 if an object is stalled, failing, interrupted or broken.
    """
    from reclock.cli.loop import seconds
    from reclock.cli.status import show_status

    with errors_on_stderr():
        try:
            has_problems = show_status(
                home, every_s=seconds(every) if every else None, is_json=is_json
            )
        except KeyboardInterrupt:
            raise typer.Exit(0) from None
    raise typer.Exit(1 if has_problems else 0)


@app.command()
def maintain(home: Home = None, is_json: Json = False) -> None:
    """Run retention, compaction, checkpoints and vacuum once, and measure storage.

    Safe to run beside everything else.
    """
    from reclock.cli.maintain import run_maintenance

    with errors_on_stderr():
        failed = run_maintenance(home, is_json=is_json)
    raise typer.Exit(1 if failed else 0)


@app.command(context_settings={"allow_extra_args": True})
def sql(
    context: typer.Context,
    home: Home = None,
    command: Annotated[
        list[str] | None, typer.Option("-c", "--command", help="run these statements and exit")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "-f",
            "--file",
            exists=True,
            dir_okay=False,
            readable=True,
            help="run the statements of this file and exit",
        ),
    ] = None,
    output: Annotated[str, typer.Option("--format", help="table, expanded, csv or json")] = "table",
    timing: Annotated[bool, typer.Option(help="print how long each statement took")] = False,
    user: Annotated[str, typer.Option(help="role of the session")] = "reclock",
    url: Annotated[
        str | None,
        typer.Option(
            help="postgresql://… of a server that executes the statements instead of this process"
        ),
    ] = None,
) -> None:
    """Open a SQL shell, or run statements from the command line or a file."""
    from reclock.cli.shell import run_shell
    from reclock.errors import InvalidOption

    with errors_on_stderr():
        if context.args:
            hint = "-f FILE runs the statements of a file, -c 'SELECT 1' those that follow it"
            raise InvalidOption(f'unexpected argument "{context.args[0]}"', hint=hint)
        failed = run_shell(
            home,
            commands=command or [],
            files=file or [],
            output=output,
            timing=timing,
            user=user,
            url=url,
        )
    raise typer.Exit(1 if failed else 0)


@app.command()
def serve(
    home: Home = None,
    host: Annotated[
        str, typer.Option(help="address to listen on; all but loopback need passwords and TLS")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="port; 0 takes a free one and prints it")
    ] = 6875,
    http: Annotated[
        str | None,
        typer.Option(
            help=(
                "[https://]HOST:PORT, or PORT on loopback, to answer over HTTP; the setting "
                "serve_http if absent"
            )
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="processes that share the connections")
    ] = 1,
) -> None:
    """Serve SQL over the PostgreSQL protocol until SIGTERM or SIGINT.

    If a newer epoch fences the server, it joins that epoch."""
    import asyncio

    from reclock.server import serve_loop
    from reclock.server.listeners import Listener, PortListener
    from reclock.server.workers import Workers

    def ready(address: str, number: int) -> None:
        print(f"listening on {address}:{number}", flush=True)

    def work(listener: Listener) -> int:
        try:
            with errors_on_stderr():
                serve_loop.serve(home, listener, http)
        except typer.Exit as exit:
            return exit.exit_code
        return 0

    with errors_on_stderr():
        if workers > 1:
            raise typer.Exit(asyncio.run(Workers(host, port, workers, work).run(ready)))
        serve_loop.serve(home, PortListener(host, port, ready), http)


@app.command()
def replica(
    cluster: Annotated[str, typer.Option(help="name of the cluster")],
    replica: Annotated[str, typer.Option(help="name of the replica")],
    home: Home = None,
    incarnation: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run one replica of a cluster until SIGTERM or SIGINT.

    For service managers, where replica_autostart is off. A running process of the same replica
    ends.
    """
    import os
    import signal
    import threading
    from contextlib import ExitStack

    from reclock.consensus.processes.replicas import Incarnation
    from reclock.runtime.environment import Environment
    from reclock.runtime.replica import find, run
    from reclock.server.monitoring import monitoring

    stopping = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopping.set())
    own_incarnation = Incarnation(incarnation) if incarnation is not None else None
    with ExitStack() as scope:
        scope.enter_context(errors_on_stderr())
        environment = scope.enter_context(Environment.open(home, is_long_lived=True))
        description = find(environment, cluster, replica)
        settings = environment.stores.settings
        monitor = scope.enter_context(monitoring(settings.replica_http, settings, is_optional=True))
        if monitor is not None:
            scope.enter_context(monitor.watching(environment, description.id))
        reason = run(environment, description, incarnation=own_incarnation, stopping=stopping)
        print(f"replica {cluster}.{replica} ends: {reason}", file=sys.stderr, flush=True)
        os._exit(0)  # do not wait for a running refresh: it may be interrupted anywhere


@app.command()
def backup(
    folder: Annotated[Path, typer.Argument(help="new folder for the backup")],
    home: Home = None,
) -> None:
    """Copy both stores, consensus and the lake, as they are at one time, beside running writers."""
    from reclock.cli.backup import run_backup

    with errors_on_stderr():
        run_backup(home, folder)


@app.command()
def restore(
    folder: Annotated[Path, typer.Argument(help="folder of a backup")],
    home: Home = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="replace the existing environment")
    ] = False,
) -> None:
    """Restore both stores from a backup. Fences every process of the environment."""
    from reclock.cli.backup import run_restore

    with errors_on_stderr():
        run_restore(home, folder, may_replace=replace)


@app.command()
def password(
    role: Annotated[str, typer.Argument(help="role whose password is set")],
    home: Home = None,
    remove: Annotated[
        bool,
        typer.Option(help="remove the password: the role can then log in only from this machine"),
    ] = False,
) -> None:
    """Set the password of a role, which is prompted for twice or read from standard input."""
    from reclock.adapter.session.session import Session
    from reclock.consensus.credentials.verifiers import stored_password
    from reclock.runtime.environment import Environment
    from reclock.sql.names import quote

    with errors_on_stderr(), Environment.open(home) as environment:
        verifier = "NULL" if remove else f"'{stored_password(_read_password())}'"
        list(Session(environment).execute(f"ALTER ROLE {quote(role)} PASSWORD {verifier}"))


def _read_password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\n")


@app.command()
def spark(
    home: Home = None,
    host: Annotated[
        str, typer.Option(help="address to listen on; all but loopback need a token")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 15002,
) -> None:
    """Run a warm Spark Connect server, which others use through RECLOCK_SPARK_REMOTE."""
    from reclock.clusters.connect import serve
    from reclock.config import Settings

    with errors_on_stderr():
        serve(Settings.load(home), host, port)

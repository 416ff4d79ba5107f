"""Open the demo's environment for use: Airflow's UI and the SQL port, and how to reach the SQL
shell. On loopback; Ctrl-C ends it.

.venv/bin/python examples/flights/up.py [--home DIR] [--port 8080] [--sql-port 6875]
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from rich.console import Console
from stack import BIN, DAG, PROJECT, USER, StackError, own, running

console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--home", type=Path, default=PROJECT / "demo-home", help="folder of the demo's environment"
    )
    parser.add_argument("--port", type=int, default=8080, help="port of Airflow's UI on loopback")
    parser.add_argument(
        "--sql-port",
        type=int,
        default=6875,
        help="port of SQL over the PostgreSQL wire on loopback",
    )
    arguments = parser.parse_args()
    if not (arguments.home / "reclock.toml").exists():
        console.print(
            f"[red]there is no environment in {arguments.home}: run `make demo` first[/red]"
        )
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console.print("starting Airflow, a warm Spark session and the SQL port")
    try:
        with (
            own(arguments.home),
            running(arguments.home, port=arguments.port, sql_port=arguments.sql_port) as stack,
        ):
            console.print(
                f"Airflow    {stack.url}/dags/{DAG}   user [bold]{USER}[/bold], password "
                f"[bold]{stack.password}[/bold]"
            )
            console.print(
                f"Reclock    {stack.url}/plugin/reclock   sources, frontiers, checks; "
                "also under Browse"
            )
            console.print(
                f"SQL port   psql -h 127.0.0.1 -p {arguments.sql_port} -U reclock reclock"
            )
            console.print(f"SQL shell  {BIN}/reclock sql --home {arguments.home}")
            console.print(
                f"A tick is a run of {DAG}: press Trigger. Objects are in "
                f"{arguments.home / 'buckets'}. Ctrl-C ends this."
            )
            while True:
                for line in stack.restart_ended():
                    console.print(f"[red]{line}[/red]")
                time.sleep(1)
    except KeyboardInterrupt:
        return 0
    except StackError as error:
        console.print(f"[red]{error}[/red]")
        return 1


if __name__ == "__main__":
    sys.exit(main())

"""``reclock serve``: runs the server, and joins the environment again after a newer epoch has
fenced it."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path

import structlog
import uvloop

from reclock.config import Settings
from reclock.pipeline.index_maintenance import maintaining
from reclock.runtime.environment import Environment
from reclock.runtime.leader import leading
from reclock.runtime.reporting import reporting
from reclock.server.console import Console
from reclock.server.listeners import Listener
from reclock.server.monitoring import monitoring
from reclock.server.server import Server

_log = structlog.get_logger(__name__)
_REJOIN_DELAY_S = 1.0


def serve(home: Path | None, listener: Listener, http: str | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    A new epoch of the same layout and deploy generation ends all sessions with ``57P01``, and the
    server joins it. Raises what opening the environment raises: a release or generation that has
    taken over is not joined. ``http`` is the address for monitoring, by default the setting
    ``serve_http``; a worker adds its number to the port.
    """
    settings = Settings.load(home)
    address = settings.serve_http if http is None else http
    with monitoring(address, settings, listener.number) as monitor:
        while True:
            with (
                Environment.open(home, is_long_lived=True) as environment,
                leading(environment),
                maintaining(environment),
                reporting(environment),
            ):
                server = Server(environment, listener)
                console = Console(environment)
                with (
                    monitor.watching(environment, application=console)
                    if monitor is not None
                    else nullcontext()
                ):
                    uvloop.run(server.run())
                if not server.was_fenced:
                    return
            _log.warning("fenced by a newer epoch; joining it")
            time.sleep(_REJOIN_DELAY_S)

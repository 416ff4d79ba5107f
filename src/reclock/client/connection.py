"""``reclock.connect``: a client of an environment or of a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reclock.client.client import Client
from reclock.errors import InvalidOption
from reclock.sql.names import DEFAULT_USER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMES = ("postgresql://", "postgres://")


def connect(
    url_or_home: str | Path | None = None,
    *,
    user: str | None = None,
    create: bool = False,
    spark: SparkSession | None = None,
    notice: Callable[[str], None] = lambda message: None,
) -> Client:
    """A client of the server at ``postgresql://…``, or of the environment in a folder
    (``RECLOCK_HOME`` or ``.reclock`` if None).

    ``notice`` receives what statements report besides results. The other options are for a folder.
    ``user`` is the role of the session, and a URL names its own. ``create`` makes the environment
    if it is not there, or upgrades it. ``spark`` is a session to use and leave running; without
    one, a session is started when it is first needed. Raises ``CatalogUninitialized`` and what
    opening an environment raises; ``InvalidOption`` and ``ServerError`` for a URL.
    """
    if isinstance(url_or_home, str) and url_or_home.startswith(_SCHEMES):
        if user is not None or create or spark is not None:
            raise InvalidOption(
                "user, create and spark are options of an environment's home, not of a server's URL"
            )
        from reclock.client.remote import RemoteClient

        return RemoteClient(url_or_home, notice=notice)
    if isinstance(url_or_home, str):
        reject_url(url_or_home)
    import structlog

    from reclock.client.embedded import EmbeddedClient
    from reclock.config import Settings
    from reclock.config.logs import configure_logging
    from reclock.runtime.environment import Environment

    if not structlog.is_configured():
        configure_logging(Settings.load(url_or_home))
    opener = Environment.initialise if create else Environment.open
    environment = opener(url_or_home, spark=spark)
    try:
        return EmbeddedClient(environment, user=user or DEFAULT_USER, notice=notice)
    except BaseException:
        environment.close()
        raise


def reject_url(home: str) -> None:
    """Raises ``InvalidOption`` for a URL, which is no path of an environment."""
    if "://" in home:
        raise InvalidOption(
            f'"{home}" is neither the path of an environment nor the URL of a server',
            hint="a server's URL is postgresql://user:password@host:6875/reclock",
        )

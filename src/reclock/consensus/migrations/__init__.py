"""The version of the tables in consensus, and the Alembic migrations that upgrade an older database
to it.

A new version is a module in ``versions``, whose ``down_revision`` is the previous version, and a
new ``VERSION``. Migrations only add tables and columns, so that processes of the previous release
continue to work beside those of the next. The version of the catalog keeps out releases that cannot
work together.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import sqlalchemy as sa

VERSION = "0006"
"""The version that this release reads and writes."""

_VERSION_TABLE = "reclock_consensus_version"
_VERSIONS = sa.table(_VERSION_TABLE, sa.column("version_num"))


def is_current(connection: sa.Connection) -> bool:
    """Whether the tables have ``VERSION`` or a later one, which this release can use too."""
    version = _version(connection)
    return version is not None and version >= VERSION


def upgrade(connection: sa.Connection) -> None:
    """Upgrade the tables to ``VERSION``, from any earlier version or none, within the connection's
    transaction."""
    if is_current(connection):
        return  # another process was faster
    from alembic import command  # takes long to import, and is rarely needed
    from alembic.config import Config

    with as_file(files(__name__)) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.attributes |= {"connection": connection, "version_table": _VERSION_TABLE}
        command.upgrade(config, VERSION)


def _version(connection: sa.Connection) -> str | None:
    """The version of the database; None before versions."""
    if not sa.inspect(connection).has_table(_VERSION_TABLE):
        return None
    return connection.scalar(sa.select(_VERSIONS.c.version_num))

"""The version of the tables in consensus, and the Alembic migrations that upgrade an older database
to it.

A new version is a module in ``versions``, whose ``down_revision`` is the previous version, and a
new ``VERSION``. ``sqlite.sql`` and ``postgresql.sql`` are the statements that Alembic would execute
in a database without a version; executing them takes a tenth of the time. Migrations only add
tables and columns, so that processes of the previous release continue to work beside those of the
next. The version of the catalog keeps out releases that cannot work together.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import sqlalchemy as sa

VERSION = "0007"
"""The version that this release reads and writes."""

VERSION_TABLE = "reclock_consensus_version"
_VERSIONS = sa.table(VERSION_TABLE, sa.column("version_num"))


def is_current(connection: sa.Connection) -> bool:
    """Whether the tables have ``VERSION`` or a later one, which this release can use too."""
    return _has_version(connection) and _is_current(connection)


def upgrade(connection: sa.Connection) -> None:
    """Upgrade the tables to ``VERSION``, from any earlier version or none, within the connection's
    transaction."""
    if not _has_version(connection):
        _create(connection)
    elif not _is_current(connection):  # otherwise another process was faster
        _migrate(connection)


def _create(connection: sa.Connection) -> None:
    for statement in statements(connection.dialect.name):
        connection.exec_driver_sql(statement)


def statements(dialect: str) -> list[str]:
    """The statements of all migrations, in the SQL of ``sqlite`` or ``postgresql``."""
    return files(__name__).joinpath(f"{dialect}.sql").read_text().split(";\n\n")


def _migrate(connection: sa.Connection) -> None:
    from alembic import command  # takes long to import, and is rarely needed
    from alembic.config import Config

    with as_file(files(__name__)) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.attributes |= {"connection": connection, "version_table": VERSION_TABLE}
        command.upgrade(config, VERSION)


def _has_version(connection: sa.Connection) -> bool:
    """Whether the tables have a version. Those of early releases have none."""
    return sa.inspect(connection).has_table(VERSION_TABLE)


def _is_current(connection: sa.Connection) -> bool:
    version: str | None = connection.scalar(sa.select(_VERSIONS.c.version_num))
    return version is not None and version >= VERSION

"""The hook of connections of type ``reclock``. Files of DAGs import it, so it imports the client when
it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.sql.hooks.sql import DbApiHook
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException
from sqlalchemy.engine import URL

from reclock.errors import InvalidOption

if TYPE_CHECKING:
    import pandas as pd

    from reclock.airflow.dbapi import DbApiConnection, Parameters
    from reclock.client.client import Client

DEFAULT_PORT = 6875


class ReclockHook(DbApiHook):
    """A client of the environment that a connection names: its home, or a server's host.

    Airflow's SQL operators and sensors work with it. Their statements have ``%s`` or ``%(name)s``
    for parameters.
    """

    conn_name_attr = "reclock_conn_id"
    default_conn_name = "reclock_default"
    conn_type = "reclock"
    hook_name = "Reclock"
    supports_autocommit = True

    @classmethod
    def get_connection(cls, conn_id: str) -> Connection:
        """The connection. The default one need not exist: without it, the environment is the one at
        ``RECLOCK_HOME``. Raises ``AirflowNotFoundException``."""
        try:
            return super().get_connection(conn_id)
        except AirflowNotFoundException:
            if conn_id != cls.default_conn_name:
                raise
            return Connection(conn_id=conn_id, conn_type=cls.conn_type)

    @classmethod
    async def aget_connection(cls, conn_id: str) -> Connection:
        """As ``get_connection``."""
        try:
            return await super().aget_connection(conn_id)
        except AirflowNotFoundException:
            if conn_id != cls.default_conn_name:
                raise
            return Connection(conn_id=conn_id, conn_type=cls.conn_type)

    def get_client(self) -> Client:
        """A new client, to be closed. Raises ``InvalidOption`` and what ``reclock.connect``
        raises."""
        from reclock.client.connection import connect

        if (url := self._server_url()) is not None:
            return connect(url.render_as_string(hide_password=False))
        home, user = self.connection_extra.get("home"), self.connection.login
        return connect(home or None, user=user or None)

    def get_conn(self) -> DbApiConnection:
        from reclock.airflow.dbapi import DbApiConnection

        return DbApiConnection(self.get_client())

    @property
    def sqlalchemy_url(self) -> URL:
        """The server's URL for SQLAlchemy. Raises ``InvalidOption`` if there is no server."""
        url = self._server_url()
        if url is None:
            hint = "give the connection the host of reclock serve"
            raise InvalidOption("SQLAlchemy needs a server", hint=hint)
        return url.set(drivername="postgresql+psycopg")

    def _server_url(self) -> URL | None:
        """The URL of the connection's server, or None if it has no host. Raises
        ``InvalidOption``."""
        from reclock.sql.names import DEFAULT_DATABASE, DEFAULT_USER

        connection, parameters = self.connection, dict(self.connection_extra)
        home, name = parameters.pop("home", None), f'connection "{self.get_conn_id()}"'
        if not connection.host:
            if connection.port or connection.schema or connection.password:
                raise InvalidOption(f"{name} has options of a server, but no host")
            return None
        if home:
            raise InvalidOption(f"{name} has both a home and a host")
        return URL.create(
            "postgresql",
            connection.login or DEFAULT_USER,
            connection.password or None,
            connection.host,
            connection.port or DEFAULT_PORT,
            connection.schema or DEFAULT_DATABASE,
            {key: str(value) for key, value in parameters.items()},
        )

    def _get_pandas_df(self, sql: str, parameters: Parameters = None) -> pd.DataFrame:
        from reclock.airflow.dbapi import numbered

        text, values = (sql, []) if parameters is None else numbered(sql, parameters)
        with self.get_client() as client:
            return client.sql(text, values).pandas()

"""Catalogs of Iceberg tables: one behind Iceberg's REST protocol, or the environment's own in an
SQL database."""

from __future__ import annotations

import io
import os
from pathlib import PurePosixPath

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import Table

from reclock.collections.folder import fsync
from reclock.config import Settings
from reclock.connectors.clients import iceberg_rest_client
from reclock.definitions.connections import Connection, SecretResolver

CATALOG_NAME = "reclock"
"""The name of the environment's own catalog in its database, which readers have to use as well."""


def open_catalog(
    connection: Connection | None, settings: Settings, resolve_secret: SecretResolver
) -> Catalog:
    """The catalog behind ``connection``, or the environment's own. Raises what its library and
    SQLAlchemy raise if it cannot be reached."""
    files = {"py-io-impl": f"{DurableFileIO.__module__}.{DurableFileIO.__qualname__}"}
    if connection is not None:
        return RestCatalog(CATALOG_NAME, **files, **iceberg_rest_client(connection, resolve_secret))
    root = settings.sinks_root.rstrip("/")
    warehouse = f"{root if '://' in root else f'file://{root}'}/iceberg"
    return SqlCatalog(
        CATALOG_NAME,
        **files,
        **_store_properties(settings, root),
        uri=settings.iceberg_catalog_url.get_secret_value(),
        warehouse=warehouse,
    )


def lies_elsewhere(table: Table) -> bool:
    """Whether the files of a table in the environment's own catalog are not in its local folder for
    sinks. Paths in an Iceberg table are absolute: a copy of an environment names the files of the
    environment that it was copied from."""
    warehouse = table.catalog.properties.get("warehouse", "")
    is_local = isinstance(table.catalog, SqlCatalog) and warehouse.startswith("file://")
    return is_local and not table.location().startswith(f"{warehouse}/")


def _store_properties(settings: Settings, root: str) -> dict[str, str]:
    """PyIceberg's names for the settings of an object store; none for a local root."""
    names = {
        "AWS_REGION": "s3.region",
        "AWS_ENDPOINT_URL": "s3.endpoint",
        "AWS_ACCESS_KEY_ID": "s3.access-key-id",
        "AWS_SECRET_ACCESS_KEY": "s3.secret-access-key",
    }
    options = settings.store_options(root)
    return {names[name]: value for name, value in options.items() if name in names}


class DurableFileIO(PyArrowFileIO):
    """Files whose content and names survive a loss of power once they are closed, on a local disk
    too."""

    def new_output(self, location: str) -> PyArrowFile:
        scheme, netloc, path = self.parse_location(location, self.properties)
        if scheme != "file":
            return super().new_output(location)
        return _LocalFile(location, path, self.fs_by_scheme(scheme, netloc))


class _LocalFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> io.BufferedWriter:
        parent = PurePosixPath(self._path).parent
        new = [folder for folder in (parent, *parent.parents) if not os.path.isdir(folder)]
        os.makedirs(parent, exist_ok=True)
        for folder in new:
            fsync(str(folder.parent))
        return _DurableStream(self._path, "wb" if overwrite else "xb")


class _DurableStream(io.BufferedWriter):
    def __init__(self, path: str, mode: str) -> None:
        super().__init__(io.FileIO(path, mode))
        self._folder = os.path.dirname(path)

    def close(self) -> None:
        if not self.closed:
            self.flush()
            os.fsync(self.fileno())
            fsync(self._folder)
        super().close()

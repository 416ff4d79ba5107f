"""Assets of Airflow for what changes in an environment: sources, tables, views and sinks."""

from __future__ import annotations

import re

from airflow.sdk import Asset

from reclock.definitions.lineage import asset_uri

DEFAULT_DATABASE = "reclock"
DEFAULT_SCHEMA = "public"

_PARTS = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')


def relation_asset(name: str) -> Asset:
    """The asset of the source, table, view or sink, ``reclock://<database>/<schema>/<name>``, for a
    DAG's schedule.

    What ``name`` leaves out is the database ``reclock`` and the schema ``public``. Parts may be
    quoted, as in SQL.
    """
    parts = [
        quoted.replace('""', '"') if quoted else plain for quoted, plain in _PARTS.findall(name)
    ]
    whole = [DEFAULT_DATABASE, DEFAULT_SCHEMA][: max(3 - len(parts), 0)] + parts
    return Asset(asset_uri(whole))

"""What Airflow loads through the entry point ``airflow.plugins``, or from the folder `plugins/`:
the page *Reclock* in its UI, and the timetable of ``reclock_backfill``.

The page shows every object with its freshness and errors, and the data docs, behind the same login.

Who may see the DAG `reclock_tick` may see the page; who may edit it may decide about stalled
sources. The environment is the one at `RECLOCK_HOME`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from reclock.airflow.timetable import BackfillTimetable

if TYPE_CHECKING:
    from fastapi import FastAPI

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))
PREFIX = "/reclock"

Message = MutableMapping[str, Any]


async def app(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """The page's application, made at the first request: every process of Airflow's loads this
    module, only one serves it."""
    await pages()(scope, receive, send)


@cache
def pages() -> FastAPI:
    from reclock.airflow.pages_app import make

    return make(HOME, PREFIX)


class ReclockPlugin(AirflowPlugin):
    name = "reclock"
    timetables = [BackfillTimetable]  # noqa: RUF012
    fastapi_apps: ClassVar[list[dict[str, Any]]] = [
        {"app": app, "url_prefix": PREFIX, "name": "Reclock"}
    ]
    external_views: ClassVar[list[dict[str, str]]] = [
        {
            "name": "Reclock",
            "href": f"{PREFIX}/",
            "destination": "nav",
            "url_route": "reclock",
            "category": "browse",
        }
    ]

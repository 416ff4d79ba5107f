"""The page *Reclock* in Airflow's UI: sources with their frontiers, lag and checks, and the data docs behind the same login.

Who may see the DAG `reclock_tick` may see the page. The environment is the one at `RECLOCK_HOME`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from fastapi import FastAPI

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))
PREFIX = "/reclock"

DOOR = """<!DOCTYPE html><meta charset="UTF-8"><meta http-equiv="refresh" content="0; url=overview"><title>Reclock</title>
<body style="font:15px system-ui,sans-serif;color:#5d687a;padding:2rem">Reading the environment…</body>"""
"""What is there to see until the overview is: the first one after a start takes seconds."""

Message = MutableMapping[str, Any]


async def app(scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
    """The page's application, made at the first request: every process of Airflow's loads this file, only one serves it."""
    await pages()(scope, receive, send)


@cache
def pages() -> FastAPI:
    from airflow.api_fastapi.core_api.security import requires_access_dag
    from fastapi import Depends, FastAPI, HTTPException
    from fastapi.responses import FileResponse, HTMLResponse, Response

    from reclock.config import Settings

    policy = "default-src 'none'; style-src 'unsafe-inline'; {} frame-ancestors 'self'"
    may_see = [Depends(requires_access_dag(method="GET", param_dag_id="reclock_tick"))]
    made = FastAPI(title="Reclock", dependencies=may_see, docs_url=None, redoc_url=None, openapi_url=None)

    @made.get("/", response_model=None)
    async def door() -> Response:
        return HTMLResponse(DOOR, headers={"Content-Security-Policy": policy.format("")})

    @made.get("/overview", response_model=None)
    def overview() -> Response:
        from reclock.errors import ReclockError

        try:
            page = overview_page()
        except ReclockError as error:
            raise HTTPException(503, {"error": error.message, "hint": error.hint}) from error
        return HTMLResponse(page, headers={"Content-Security-Policy": policy.format("")})

    @made.get("/data-docs/{page:path}", response_model=None)
    def data_docs(page: str) -> Response:
        root = (Settings.load(HOME).home / "quality").resolve()
        path = (root / page).resolve()
        if not path.is_relative_to(root) or path.suffix != ".html" or not path.is_file():
            raise HTTPException(404, "there is no such page")
        return FileResponse(path, headers={"Content-Security-Policy": policy.format("script-src 'unsafe-inline';")})

    return made


def overview_page() -> str:
    from reclock.adapter.query.overview import overview_of
    from reclock.introspection.page import render
    from reclock.runtime.environment import Environment

    with Environment.open(HOME) as environment:
        return render(overview_of(environment), docs_url=f"{PREFIX}/data-docs/")


class ReclockPlugin(AirflowPlugin):
    name = "reclock"
    fastapi_apps: ClassVar[list[dict[str, Any]]] = [{"app": app, "url_prefix": PREFIX, "name": "Reclock"}]
    external_views: ClassVar[list[dict[str, str]]] = [
        {"name": "Reclock", "href": f"{PREFIX}/", "destination": "nav", "url_route": "reclock", "category": "browse"}
    ]

"""The application that serves the pages about an environment within Airflow's API server."""

from __future__ import annotations

from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.api_fastapi.logging.decorators import action_logging
from airflow.configuration import conf
from fastapi import Depends, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response

from reclock.airflow.open_environment import OpenEnvironment
from reclock.runtime.environment import Environment
from reclock.server.pages import HtmlPage, Pages

DAG = "reclock_tick"


def make(home: str, prefix: str) -> FastAPI:
    """The pages of the environment at ``home`` below ``prefix``.

    Who may see the DAG ``reclock_tick`` may see them. Who may edit it may decide about stalled
    sources, as the role ``reclock``; Airflow's audit log has the user and the page.
    """
    opened = OpenEnvironment(home)
    secret = conf.get_mandatory_value("api", "secret_key").encode()
    may_see = [Depends(requires_access_dag(method="GET", param_dag_id=DAG))]
    may_decide = [
        Depends(requires_access_dag(method="PUT", param_dag_id=DAG)),
        Depends(action_logging("reclock_decision")),
    ]
    app = FastAPI(
        title="Reclock", dependencies=may_see, docs_url=None, redoc_url=None, openapi_url=None
    )

    def pages(environment: Environment) -> Pages:
        return Pages(environment, root=f"{prefix}/", secret=secret)

    @app.get("/{path:path}", response_model=None)
    def get(path: str, request: Request, user: GetUserDep) -> Response:
        def answer(environment: Environment) -> HtmlPage:
            return pages(environment).get(path, user.get_name(), request.query_params)

        return _response(opened.use(answer))

    @app.post("/{path:path}", response_model=None, dependencies=may_decide)
    async def decide(path: str, request: Request, user: GetUserDep) -> Response:
        form = {
            name: value for name, value in (await request.form()).items() if isinstance(value, str)
        }

        def answer(environment: Environment) -> HtmlPage:
            return pages(environment).decide(path, form, user.get_name(), role="reclock")

        return _response(await run_in_threadpool(opened.use, answer))

    return app


def _response(page: HtmlPage) -> Response:
    location = {} if page.location is None else {"Location": page.location}
    return HTMLResponse(page.html, page.status, {"Content-Security-Policy": page.policy} | location)

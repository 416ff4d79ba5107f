"""Serves Airflow's API application in this process and prints how it answers the requests given, as
each of the users given."""

import html
import json
import re
import sys
from typing import Any


def main(paths: list[str], decision: str | None = None) -> None:
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from starlette.testclient import TestClient

    client = TestClient(create_app(apps="all"), follow_redirects=False)
    manager = get_auth_manager()
    tokens = {"nobody": None} | {
        role: manager.generate_jwt(SimpleAuthManagerUser(username=role, role=role))
        for role in ("admin", "viewer")
    }
    answers = []
    for path in paths:
        for user, token in tokens.items():
            answer = client.get(path, headers={"Authorization": f"Bearer {token}"} if token else {})
            text = answer.text
            answers.append(
                {
                    "path": path,
                    "user": user,
                    "status": answer.status_code,
                    "text": text,
                    "headers": dict(answer.headers),
                }
            )
    views = client.get(
        "/api/v2/plugins", headers={"Authorization": f"Bearer {tokens['admin']}"}
    ).json()["plugins"]
    served: dict[str, Any] = {"answers": answers, "plugins": views}
    if decision is not None:
        source = re.search(
            r'href="/reclock/object/(\w+)"',
            next(answer["text"] for answer in answers if answer["status"] == 200),
        )
        assert source is not None
        served |= decide(client, decision.format(source[1]), tokens)
    print("\n" + json.dumps(served))


def decide(client: Any, path: str, tokens: dict[str, str | None]) -> dict[str, Any]:
    """What each user's attempt at the decision is answered, and what Airflow's audit log has of
    it."""
    from airflow.models.log import Log
    from airflow.utils.session import create_session
    from sqlalchemy import select

    statuses = {}
    for name, user, drops in (
        ("viewer", "viewer", ()),
        ("admin without a token", "admin", ("token",)),
        ("admin", "admin", ()),
    ):
        headers = {"Authorization": f"Bearer {tokens[user]}"}
        fields = re.findall(r'name="(\w+)" value="([^"]*)"', client.get(path, headers=headers).text)
        form = {field: html.unescape(value) for field, value in fields if field not in drops}
        statuses[name] = client.post(path, data=form, headers=headers).status_code
    with create_session() as session:
        events = session.scalars(
            select(Log.event).where(Log.event == "reclock_decision", Log.owner == "admin")
        ).all()
    return {"decisions": statuses, "audited": sorted(set(events))}


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))

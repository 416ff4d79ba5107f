"""Serves Airflow's API application in this process and prints how it answers the requests given, as each of the users given."""

import json
import sys


def main(paths: list[str]) -> None:
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from starlette.testclient import TestClient

    client = TestClient(create_app(apps="all"), follow_redirects=False)
    manager = get_auth_manager()
    tokens = {"nobody": None} | {
        role: manager.generate_jwt(SimpleAuthManagerUser(username=role, role=role)) for role in ("admin", "viewer")
    }
    answers = []
    for path in paths:
        for user, token in tokens.items():
            answer = client.get(path, headers={"Authorization": f"Bearer {token}"} if token else {})
            text = answer.text
            answers.append(
                {"path": path, "user": user, "status": answer.status_code, "text": text, "headers": dict(answer.headers)}
            )
    views = client.get("/api/v2/plugins", headers={"Authorization": f"Bearer {tokens['admin']}"}).json()["plugins"]
    print("\n" + json.dumps({"answers": answers, "plugins": views}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

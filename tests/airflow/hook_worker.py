"""Uses the hook of the connection ``reclock_default``, once for each set of variables, and prints
what it answers."""

import asyncio
import json
import os
import sys
from typing import Any


def answers_of(variables: dict[str, str]) -> dict[str, Any]:
    os.environ.update(variables)
    from reclock.airflow.hooks import ReclockHook
    from reclock.airflow.triggers import open_hook

    hook = ReclockHook()
    in_triggerer = asyncio.run(open_hook("reclock_default"))
    answers: dict[str, Any] = {
        "test": hook.test_connection(),
        "triggerer": in_triggerer.test_connection(),
    }
    if answers["test"][0]:
        hook.run("CREATE TABLE items (id integer, price numeric(10, 2))")
        hook.insert_rows("items", [(1, "2.50"), (2, "3.00")], target_fields=["id", "price"])
        query = "SELECT id, price::text FROM items WHERE id >= %s ORDER BY id"
        answers["records"] = hook.get_records(query, (1,))
        answers["first"] = hook.get_first("SELECT count(*) FROM items WHERE id = %(id)s", {"id": 2})
        frame = hook.get_df("SELECT id, price FROM items WHERE id < %s", (2,))
        answers["types"] = {name: str(type(values[0]).__name__) for name, values in frame.items()}
        hook.run("DROP TABLE items")
        with hook.get_client() as client:
            answers["user"] = client.sql("SELECT current_user").rows()[0][0]
        try:
            answers["sqlalchemy"] = hook.sqlalchemy_url.render_as_string(hide_password=False)
        except Exception as error:
            answers["sqlalchemy"] = str(error)
    return answers


if __name__ == "__main__":
    print("\n" + json.dumps([answers_of(variables) for variables in json.loads(sys.argv[1])]))

"""Concludes a task `source` whose source failed, and prints what its log says."""

import json
import logging
import sys
from typing import Any
from unittest.mock import patch


def main(failure: dict[str, str]) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    from reclock.airflow.steps import ReclockSourceOperator

    lines: list[str] = []
    log = logging.Logger("task")
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    operator = ReclockSourceOperator(task_id="source", home=".", source=failure["name"], at=1)
    context: Any = {}
    with patch.object(ReclockSourceOperator, "log", log):
        try:
            operator.conclude(context, {"docs": None, "failed": [failure], "changed": {}})
        except AirflowFailException:
            print("\n" + json.dumps(lines))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

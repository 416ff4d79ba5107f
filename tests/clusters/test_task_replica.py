"""What spark-submit is told of a cluster whose replicas nobody sees to, whatever its size's master
is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reclock.adapter.session.session import Session
from reclock.errors import InvalidOption
from reclock.runtime import task_replica
from reclock.runtime.environment import Environment

SIZES = {
    "near": {"master": "local", "cores": 2, "memory": "3g"},
    "standalone": {"master": "spark://10.0.0.1:7077", "cores": 4, "memory": "8g"},
    "hadoop": {
        "master": "yarn",
        "cores": 4,
        "memory": "8g",
        "spark_conf": {"spark.yarn.queue": "etl"},
    },
    "pods": {
        "master": "k8s://https://10.0.0.1:6443",
        "cores": 4,
        "memory": "8g",
        "spark_conf": {
            "spark.kubernetes.container.image": "reclock:1",
            "spark.driver.host": "driver.example",
        },
    },
}
OWN = {
    "near": {"spark.driver.memory": "3g", "spark.driver.host": "127.0.0.1"},
    "standalone": {"spark.driver.memory": "700m"},
    "hadoop": {"spark.driver.memory": "700m", "spark.yarn.queue": "etl"},
    "pods": {
        "spark.driver.memory": "700m",
        "spark.kubernetes.container.image": "reclock:1",
        "spark.driver.host": "driver.example",
    },
}


def test_each_cluster_is_submitted_as_its_size_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sizes.json").write_text(json.dumps(SIZES))
    monkeypatch.setenv("RECLOCK_CLUSTER_REPLICA_SIZES", str(tmp_path / "sizes.json"))
    monkeypatch.setenv("RECLOCK_SPARK_DRIVER_MEMORY", "700m")
    with Environment.initialise(tmp_path) as environment:
        list(
            Session(environment).execute(
                "; ".join(f"CREATE CLUSTER {size} SIZE '{size}'" for size in SIZES)
            )
        )
        assert task_replica.attended(environment) == ["default"]
        jobs = task_replica.submissions(environment, but=["default"], at=7, owner="run 1")
    arguments = [
        ["--home", str(tmp_path), "--cluster", size, "--at", "7", "--owner", "run 1"]
        for size in SIZES
    ]
    assert [job["application_args"] for job in jobs] == arguments
    for expected_options, job in zip(OWN.values(), jobs, strict=True):
        options = job["conf"]
        assert isinstance(options, dict)
        common = {
            "spark.driver.extraClassPath",
            "spark.driver.extraJavaOptions",
            "spark.driver.bindAddress",
        }
        assert {
            option: value for option, value in options.items() if option not in common
        } == expected_options


def test_a_size_that_is_unknown_here_fails_its_own_job_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sizes.json").write_text(json.dumps(SIZES))
    monkeypatch.setenv("RECLOCK_CLUSTER_REPLICA_SIZES", str(tmp_path / "sizes.json"))
    with Environment.initialise(tmp_path) as environment:
        list(
            Session(environment).execute(
                "; ".join(f"CREATE CLUSTER {size} SIZE '{size}'" for size in SIZES)
            )
        )
    unknown_size, *others = SIZES
    (tmp_path / "sizes.json").write_text(json.dumps({size: SIZES[size] for size in others}))
    with Environment.open(tmp_path) as environment:
        found = task_replica.submissions(environment, but=["default"], at=7, owner="run 1")
        assert [bool(job["conf"]) for job in found] == [size != unknown_size for size in SIZES]
        with pytest.raises(InvalidOption, match=unknown_size):
            environment.runtime.use_size(unknown_size)

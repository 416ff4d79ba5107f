"""The file of cluster replica sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reclock.clusters.sizes import ReplicaSize, load_sizes
from reclock.errors import ConfigurationError

SMALL: dict[str, Any] = {"master": "local", "cores": 2, "memory": "2g"}


def written(folder: Path, sizes: object) -> Path:
    file = folder / "sizes.json"
    file.write_text(json.dumps(sizes))
    return file


def test_sizes_by_name(tmp_path: Path) -> None:
    large = {"master": "spark://10.0.0.1:7077", "executors": 4, "cores": 8, "memory": "16g"}
    assert load_sizes(written(tmp_path, {"small": SMALL, "large": large})) == {
        "small": ReplicaSize(master="local", cores=2, memory="2g", executors=1),
        "large": ReplicaSize(master="spark://10.0.0.1:7077", cores=8, memory="16g", executors=4),
    }


@pytest.mark.parametrize("master", ["local", "spark://h:7077", "yarn", "k8s://https://h:6443"])
def test_masters(tmp_path: Path, master: str) -> None:
    assert load_sizes(written(tmp_path, {"s": SMALL | {"master": master}}))["s"].master == master


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"master": "local[2]"}, "small.master: "),
        ({"master": "mesos://h"}, "small.master: "),
        ({"cores": 0}, "small.cores: "),
        ({"cores": "2"}, "small.cores: "),
        ({"memory": "2"}, "small.memory: "),
        ({"memory": "0g"}, "small.memory: "),
        ({"executors": 2}, "a local master has one executor"),
        ({"disk": 1}, "small.disk: "),
    ],
)
def test_a_size_that_is_wrong_is_named(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        load_sizes(written(tmp_path, {"small": SMALL | change}))
    assert complaint in str(wrong.value.detail)


@pytest.mark.parametrize("sizes", [[], {"": SMALL}, {"small": {"master": "local"}}, 3])
def test_what_is_no_file_of_sizes_is_refused(tmp_path: Path, sizes: object) -> None:
    with pytest.raises(ConfigurationError, match="invalid cluster replica sizes"):
        load_sizes(written(tmp_path, sizes))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.json"):
        load_sizes(tmp_path / "none.json")

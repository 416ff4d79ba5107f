"""The manifests of Kubernetes: they follow its schemas, no pod is more than it needs to be, and
settings, secrets and commands are those of the package."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from typer.main import get_group

from reclock.cli import app
from reclock.config import Settings

DOCKER = Path(__file__).resolve().parents[2] / "docker"
VERSIONS = ("1.31", "1.37")
"""The oldest and the newest that the manifests are checked against."""

Resource = dict[str, Any]


@pytest.fixture(scope="module")
def resources() -> list[Resource]:
    items: list[Resource] = yaml.safe_load((DOCKER / "kubernetes.yaml").read_text())["items"]
    return items


def pods(resources: list[Resource]) -> Iterator[Resource]:
    """The specifications of pods."""
    for resource in resources:
        spec = resource.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            yield spec["template"]["spec"]


def containers(resources: list[Resource]) -> list[Resource]:
    return [
        container
        for pod in pods(resources)
        for container in [*pod["initContainers"], *pod["containers"]]
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_follow_the_schemas(resources: list[Resource], version: str) -> None:
    for resource in resources:
        kubernetes_validate.validate(resource, version, strict=True)
    wrong = copy.deepcopy(next(item for item in resources if item["kind"] == "Deployment"))
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_pods_have_no_more_rights_than_they_need(resources: list[Resource]) -> None:
    assert len(list(pods(resources))) == 4
    for pod in pods(resources):
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
    for container in containers(resources):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert not context["allowPrivilegeEscalation"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]


def test_what_keeps_running_is_probed(resources: list[Resource]) -> None:
    for resource in resources:
        if resource["kind"] == "Deployment":
            [container] = resource["spec"]["template"]["spec"]["containers"]
            assert {"startupProbe", "livenessProbe"} <= set(container)


def test_the_image_is_that_of_compose(resources: list[Resource]) -> None:
    services = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    assert {item["image"] for item in containers(resources)} == {services["sql"]["image"]}


def test_settings_are_those_of_the_package(resources: list[Resource]) -> None:
    [settings] = [item["data"] for item in resources if item["kind"] == "ConfigMap"]
    names = {*settings}
    for container in containers(resources):
        names |= {variable["name"] for variable in container.get("env", ())}
    known = {f"RECLOCK_{name.upper()}" for name in Settings.model_fields}
    assert names - known == {"SQL_PASSWORD"}


def test_commands_are_those_of_the_package(resources: list[Resource]) -> None:
    group = get_group(app)
    commands = set()
    for container in containers(resources):
        words = container["command"]
        lines = [words] if words[0] != "sh" else map(shlex.split, words[-1].split("; "))
        for line in lines:
            arguments = line[line.index("reclock") + 1 :]
            parsed = group.commands[arguments[0]]
            parsed.make_context(arguments[0], list(arguments[1:]))
            commands.add(arguments[0])
    assert commands == {"init", "password", "serve", "tick", "maintain", "backup"}


def test_secrets_and_volumes_are_mentioned_where_they_are_made(resources: list[Resource]) -> None:
    page = (DOCKER.parent / "docs" / "installation.md").read_text()
    for pod in pods(resources):
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for container in [*pod["initContainers"], *pod["containers"]]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= set(volumes)
        secrets = [
            volume["secret"]["secretName"] for volume in volumes.values() if "secret" in volume
        ]
        assert secrets == ["reclock-tls"]
    for name in ("generic reclock ", "generic reclock-sql ", "tls reclock-tls "):
        assert f"create secret {name}" in page

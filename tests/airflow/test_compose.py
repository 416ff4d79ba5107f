"""The production shape on paper: its images are pinned, its ports on loopback, its users not root,
its settings real."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from jsonschema.validators import validator_for

from reclock.config import Settings

PROJECT = Path(__file__).resolve().parents[2]
FIXTURES = PROJECT / "tests" / "fixtures"
DOCKER, DAGS = PROJECT / "docker", PROJECT / "dags"


@pytest.fixture
def services() -> dict[str, dict[str, Any]]:
    compose: dict[str, dict[str, Any]] = yaml.safe_load((DOCKER / "compose.yaml").read_text())[
        "services"
    ]
    return compose


def test_it_is_valid_compose(services: dict[str, dict[str, Any]]) -> None:
    schema = json.loads((FIXTURES / "compose" / "compose-spec.json").read_text())
    validator = validator_for(schema)(schema)
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    assert [(error.json_path, error.message) for error in validator.iter_errors(compose)] == []
    for mistake in ({"mem_limits": "1g"}, {"depends_on": {"s3": {"condition": "is_healthy"}}}):
        services["sql"] = services["sql"] | mistake
        assert not validator.is_valid(compose | {"services": services})


def test_reclock_writes_to_no_bucket_but_its_own(services: dict[str, dict[str, Any]]) -> None:
    """And only the store and the service that makes its user know the administrator's password."""
    settings = services["setup"]["environment"]
    buckets = {settings[name].split("/")[2] for name in ("RECLOCK_LAKE", "RECLOCK_SINKS")}
    assert buckets == {"reclock-lake"}
    writing, reading = set(), set()
    for statement in json.loads((DOCKER / "s3_policy.json").read_text())["Statement"]:
        is_reading = all(re.match("s3:(Get|List)", action) for action in statement["Action"])
        (reading if is_reading else writing).update(statement["Resource"])
        assert not any("*" in action for action in statement["Action"])
    assert writing == {"arn:aws:s3:::reclock-lake/*"}
    assert reading == {"arn:aws:s3:::reclock-lake", "arn:aws:s3:::*"}
    assert {name for name, service in services.items() if "S3_ROOT_PASSWORD" in str(service)} == {
        "s3",
        "s3-user",
    }
    [script] = services["s3-user"]["command"]
    user = settings["RECLOCK_S3_ACCESS_KEY_ID"]
    assert f"mc admin policy attach s3 reclock --user {user}\n" in script


def test_images_are_pinned_by_their_digests(services: dict[str, dict[str, Any]]) -> None:
    base = re.findall(r"^FROM (\S+)", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    images = {*base, *(service["image"] for service in services.values())}
    [ours] = {image for image in images if image.startswith("reclock:")}
    for image in images - {ours}:
        assert re.fullmatch(r"[\w/]+:[\w.-]*\d[\w.-]*@sha256:[0-9a-f]{64}", image), image


def test_what_is_published_is_on_loopback(services: dict[str, dict[str, Any]]) -> None:
    ports = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert ports == {
        "sql": ["127.0.0.1:${SQL_PORT:-6875}:6875"],
        "airflow-api": ["127.0.0.1:${AIRFLOW_PORT:-8080}:8080"],
    }


def test_every_process_of_airflow_runs(services: dict[str, dict[str, Any]]) -> None:
    commands = [service.get("command") for service in services.values()]
    subcommands = {command[1] for command in commands if command and command[0] == "airflow"}
    assert subcommands == {"api-server", "dag-processor", "scheduler", "triggerer"}


def test_every_secret_is_made_once(tmp_path: Path) -> None:
    docker = shutil.copytree(DOCKER, tmp_path / "docker", ignore=shutil.ignore_patterns(".env"))

    def made() -> str:
        subprocess.run(["sh", docker / "make_env.sh"], check=True, capture_output=True)
        assert (docker / ".env").stat().st_mode & 0o077 == 0
        return (docker / ".env").read_text()

    text = made()
    secrets = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
    names = re.findall(r"^(\w+)=$", (docker / ".env.example").read_text(), re.MULTILINE)
    assert list(secrets) == names
    assert len(set(secrets.values())) == len(secrets)
    assert len(base64.urlsafe_b64decode(secrets.pop("AIRFLOW_FERNET_KEY"))) == 32
    assert all(re.fullmatch(r"[0-9a-f]{48}", secret) for secret in secrets.values())
    assert made() == text


def test_what_keeps_running_is_not_root_and_has_no_capabilities(
    services: dict[str, dict[str, Any]],
) -> None:
    for name, service in services.items():
        if service.get("restart") == "unless-stopped":
            assert service["user"].split(":")[0] not in ("root", "0"), name
            assert service["cap_drop"] == ["ALL"], name


def test_what_keeps_running_has_a_limit_of_memory_and_is_probed(
    services: dict[str, dict[str, Any]],
) -> None:
    running = {k: v for k, v in services.items() if v.get("restart") == "unless-stopped"}
    assert all("mem_limit" in service for service in running.values())
    unprobed = {name for name, service in running.items() if "healthcheck" not in service}
    assert unprobed == {"spark-master", "spark-worker", "backup"}


@pytest.mark.parametrize(("status", "code"), [("healthy", 0), ("unhealthy", 1), (None, 1)])
def test_a_process_of_airflow_is_ready_if_airflow_calls_it_healthy(
    services: dict[str, dict[str, Any]], status: str | None, code: int
) -> None:
    """The answer is that of Airflow's own route for monitoring."""
    _, python, script, _, component = services["airflow-triggerer"]["healthcheck"]["test"]
    assert (python, Path(script).name, component) == ("python", "is_ready.py", "triggerer")
    health = {"metadatabase": {"status": "healthy"}, component: {"status": status}}

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(health).encode())

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/api/v2/monitor/health"
        ready = subprocess.run([sys.executable, DOCKER / "is_ready.py", url, component])
        thread.join()
    assert ready.returncode == code


def test_the_probes_ask_for_components_that_airflow_knows(
    services: dict[str, dict[str, Any]],
) -> None:
    probes = [
        service["healthcheck"]["test"]
        for name, service in services.items()
        if name.startswith("airflow-")
    ]
    from airflow.api_fastapi.core_api.datamodels.monitor import HealthInfoResponse

    fields = set(HealthInfoResponse.model_fields)
    assert fields == {probe[-1] for probe in probes}
    assert all(probe[-2].endswith(":8080/api/v2/monitor/health") for probe in probes)


def test_settings_are_those_of_the_package_and_no_secret_is_written_down(
    services: dict[str, dict[str, Any]],
) -> None:
    settings = {
        key
        for service in services.values()
        for key in service.get("environment", {})
        if key.startswith("RECLOCK_")
    }
    setting_variables = {f"RECLOCK_{name.upper()}" for name in Settings.model_fields}
    of_dags = set(
        re.findall(
            r'os\.environ\.get\("(\w+)"', "".join(file.read_text() for file in DAGS.glob("*.py"))
        )
    )
    assert settings - setting_variables == of_dags - {"RECLOCK_HOME"} | {"RECLOCK_DB_PASSWORD"}
    for service in services.values():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|FERNET|://[^/]*@", f"{key}={value}"):
                assert re.search(r"\$\{\w+:\?\}", value), key
    example = (DOCKER / ".env.example").read_text()
    required = set(re.findall(r"\$\{(\w+):\?\}", (DOCKER / "compose.yaml").read_text()))
    assert required == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))


def test_what_it_names_is_there(services: dict[str, dict[str, Any]]) -> None:
    compose = (DOCKER / "compose.yaml").read_text()
    volumes = yaml.safe_load(compose)["volumes"]
    dockerfile = (DOCKER / "Dockerfile").read_text()
    copied = re.findall(r"^COPY \S+ (.+) \S+$", dockerfile, re.MULTILINE)
    in_image = [name for names in copied for name in names.split()]
    sent = re.findall(r"^!(\S+)", (PROJECT / ".dockerignore").read_text(), re.MULTILINE)
    assert set(in_image) <= set(sent)
    assert all((PROJECT / name).exists() for name in in_image)
    for file in re.findall(r"/opt/reclock/(\S+\.\w+)", compose):
        assert (PROJECT / file).is_file(), file
        assert any(file.startswith(name) for name in in_image), file
    for name, service in services.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in volumes or (DOCKER / source).is_file(), (name, volume)
        build = service.get("build")
        assert not build or (DOCKER / build["context"] / build["dockerfile"]).is_file()
        needs = service.get("depends_on", {})
        for dependency in needs:
            assert dependency in services, name
            how = needs[dependency]["condition"] if isinstance(needs, dict) else "service_started"
            assert how != "service_healthy" or "healthcheck" in services[dependency], (
                name,
                dependency,
            )
            is_done = how == "service_completed_successfully"
            assert not is_done or services[dependency].get("restart") != "unless-stopped"

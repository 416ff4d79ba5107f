"""COPY into files: a folder is complete when its manifest is there, and then has the rows of one
query at one time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from crashes import storage_worker
from fixtures.forks import die_at
from fixtures.objects import s3_client

from reclock import failpoints
from reclock.adapter.copy import export
from reclock.adapter.session.session import Session
from reclock.client.statements import statement_text
from reclock.errors import (
    EvaluationError,
    InvalidOption,
    PermissionDenied,
    ReclockError,
    SqlSyntaxError,
    TargetComplete,
    TargetNotEmpty,
    UnsupportedSql,
)
from reclock.runtime.environment import Environment

VALUES = """1::smallint AS s, 2::bigint AS b, 1.5::real AS r, 2.5::double precision AS d,
  1.10::numeric(10, 2) AS n, 'a,"b' || chr(10) AS t, true AS f, date '2026-11-21' AS day,
  timestamp '2026-11-21 10:00:00.5' AS at, timestamptz '2026-11-21 10:00:00+00' AS tz, time '10:00' AS h,
  '{"k": [1]}'::jsonb AS j, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS u, NULL::integer AS nothing, '' AS e"""
READERS = {
    "PARQUET": "read_parquet({})",
    "CSV": "read_csv({}, allow_quoted_nulls = false)",
    "JSON": "read_json({})",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    home = tmp_path_factory.mktemp("exports")
    (home / "reclock.toml").write_text(f'exports = "{home}/out"\n')
    with Environment.initialise(home) as opened:
        run(opened, "CREATE TABLE t (id int, word text); CREATE VIEW v AS SELECT id FROM t")
        run(opened, "INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, '')")
        yield opened


def run(environment: Environment, text: str) -> str:
    tag = ""
    for answer in Session(environment).execute(text):
        tag = answer.tag
    return tag


def manifest_of(folder: Path) -> dict[str, Any]:
    [file] = (folder / "_manifests").glob("*.json")
    manifest: dict[str, Any] = json.loads(file.read_text())
    files = {f"{path.relative_to(folder)}" for path in folder.glob("*.*")}
    assert files == {file["path"] for file in manifest["files"]}
    return manifest


def rows_of(folder: Path, manifest: dict[str, Any], columns: str = "*") -> list[tuple[Any, ...]]:
    files = [str(folder / file["path"]) for file in manifest["files"]]
    rows = duckdb.sql(
        f"SELECT {columns} FROM {READERS[manifest['format']].format(files)} ORDER BY 1"
    )
    return rows.fetchall()


def folder_of(environment: Environment, name: str) -> Path:
    return Path(environment.stores.settings.exports) / name


@pytest.mark.parametrize("format", READERS)
def test_a_folder_has_the_rows_of_one_time_and_a_manifest(
    environment: Environment, format: str
) -> None:
    name = f"of/{format}"
    before = run(environment, f"COPY t TO '{name}' WITH (FORMAT = '{format.lower()}')")
    assert before == "COPY 3"
    manifest = manifest_of(folder_of(environment, name))
    rows = rows_of(folder_of(environment, name), manifest)
    assert rows == [(1, "a"), (2, None), (3, "")]
    assert manifest["columns"] == {"id": "integer", "word": "text"}
    run(environment, "DELETE FROM t WHERE id = 3")
    query = f"(SELECT word, id FROM t AS OF {manifest['time']})"
    try:
        assert run(environment, f"COPY {query} TO '{name}2' WITH (FORMAT {format})") == "COPY 3"
    finally:
        run(environment, "INSERT INTO t VALUES (3, '')")
    again = manifest_of(folder_of(environment, f"{name}2"))
    assert len(rows_of(folder_of(environment, f"{name}2"), again)) == 3
    assert again["time"] == manifest["time"]
    assert list(again["columns"]) == ["word", "id"]


@pytest.mark.parametrize("format", READERS)
def test_every_type_comes_back(environment: Environment, format: str) -> None:
    run(environment, f"COPY (SELECT {VALUES}) TO 'types/{format}' WITH (FORMAT = '{format}')")
    folder = folder_of(environment, f"types/{format}")
    manifest = manifest_of(folder)
    assert manifest["time"] is None
    [texts] = rows_of(folder, manifest, "COLUMNS(*)::VARCHAR")
    assert list(texts[:4]) == ["1", "2", "1.5", "2.5"]
    assert float(texts[4]) == 1.1
    assert list(texts[5:8]) == ['a,"b\n', "true", "2026-11-21"]
    assert texts[8].replace("T", " ").startswith("2026-11-21 10:00:00.5")
    assert texts[9].replace("T", " ").startswith("2026-11-21 10:00:00")
    assert texts[10].startswith("10:00")
    assert json.loads(texts[11].replace("'", '"')) == {"k": [1]}
    assert list(texts[12:]) == ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None, ""]


def test_fields_of_composite_types_have_their_names_in_parquet(environment: Environment) -> None:
    run(environment, "CREATE TYPE home AS (street text, number int)")
    run(environment, "COPY (SELECT ('x', 1)::home AS h) TO 'homes' WITH (FORMAT = parquet)")
    folder = folder_of(environment, "homes")
    assert rows_of(folder, manifest_of(folder)) == [({"street": "x", "number": 1},)]


def test_views_columns_and_large_results(environment: Environment) -> None:
    assert run(environment, "COPY v TO 'view' WITH (FORMAT = csv)") == "COPY 3"
    assert run(environment, "COPY t (word) TO 'column' WITH (FORMAT = json)") == "COPY 3"
    empty = "COPY (SELECT * FROM t WHERE id > 9) TO 'empty' WITH (FORMAT = parquet)"
    assert run(environment, empty) == "COPY 0"
    [file] = manifest_of(folder_of(environment, "empty"))["files"]
    assert duckdb.sql(f"FROM '{folder_of(environment, 'empty') / file['path']}'").columns == [
        "id",
        "word",
    ]
    large = "(SELECT n, md5(n::text) AS hash FROM generate_series(1, 300000) AS n)"
    run(
        environment,
        f"SET max_result_size = '1MB'; COPY {large} TO 'large' WITH (FORMAT = csv, MAX FILE SIZE = '4 MB')",
    )
    files = manifest_of(folder_of(environment, "large"))["files"]
    assert len(files) > 1
    assert sum(file["rows"] for file in files) == 300_000
    assert max(file["bytes"] for file in files) < 9 << 20


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("COPY t TO '../x' WITH (FORMAT = csv)", InvalidOption, "path of a folder"),
        ("COPY t TO '/tmp/x' WITH (FORMAT = csv)", InvalidOption, "path of a folder"),
        ("COPY t TO 'link/x' WITH (FORMAT = csv)", PermissionDenied, "leads out"),
        ("COPY t TO 'full' WITH (FORMAT = csv)", TargetNotEmpty, "not empty"),
        ("COPY t TO 'done/a/b' WITH (FORMAT = csv)", TargetComplete, "is an export"),
        ("COPY t TO 's3://b/x' WITH (FORMAT = csv)", InvalidOption, "needs a connection"),
        (
            "COPY t TO 's3:///x' WITH (FORMAT = csv, AWS CONNECTION = c)",
            InvalidOption,
            "no bucket",
        ),
        ("COPY t TO 'x' WITH (FORMAT = csv, AWS CONNECTION = c)", InvalidOption, "not in a bucket"),
        ("COPY t TO 'x' WITH (FORMAT = csv, MAX FILE SIZE = 'big')", InvalidOption, "MAX FILE"),
        ("COPY t TO 'x' WITH (FORMAT = avro)", SqlSyntaxError, "PARQUET"),
        ("COPY t TO 'x'", SqlSyntaxError, "WITH"),
        ("COPY (SUBSCRIBE t) TO 'x' WITH (FORMAT = csv)", UnsupportedSql, "does not end"),
        ("COPY (SELECT 1 AS a, 2 AS a) TO 'x' WITH (FORMAT = csv)", InvalidOption, "own"),
        ("COPY (SELECT '\\x00'::bytea) TO 'x' WITH (FORMAT = csv)", UnsupportedSql, "bytea"),
        ("COPY (SELECT ARRAY[1]) TO 'x' WITH (FORMAT = csv)", UnsupportedSql, "a file"),
        (
            "COPY (SELECT interval '1 day') TO 'x' WITH (FORMAT = parquet)",
            UnsupportedSql,
            "a file",
        ),
        ("COPY (SELECT ROW(1, 2)) TO 'x' WITH (FORMAT = json)", UnsupportedSql, "a file"),
        (
            "COPY (SELECT 1 / (id - 2) AS n FROM t) TO 'x' WITH (FORMAT = csv)",
            EvaluationError,
            "zero",
        ),
    ],
)
def test_what_is_refused_or_fails_leaves_no_file(
    environment: Environment, text: str, error: type[ReclockError], message: str
) -> None:
    root = folder_of(environment, "")
    run(
        environment, "CREATE CONNECTION IF NOT EXISTS c TO AWS (REGION 'x') WITH (VALIDATE = false)"
    )
    root.mkdir(exist_ok=True)
    if not (root / "full").exists():
        (root / "full").mkdir()
        (root / "full/file").write_text("of somebody")
        (root / "link").symlink_to(root.parent)
        run(environment, "COPY t TO 'done' WITH (FORMAT = csv)")
    with pytest.raises(error, match=message):
        run(environment, text)
    for folder in ("x", "done/a"):
        assert [path for path in (root / folder).rglob("*") if path.is_file()] == []


def test_without_the_setting_no_folder_is_written(tmp_path: Path) -> None:
    with (
        Environment.initialise(tmp_path) as environment,
        pytest.raises(PermissionDenied, match="not allowed here"),
    ):
        run(environment, "COPY (SELECT 1) TO 'x' WITH (FORMAT = csv)")


def test_the_python_client_may_export() -> None:
    text = "COPY t TO 'x' WITH (FORMAT = csv)"
    assert statement_text(text, None) == text


@pytest.mark.parametrize(
    ("killed_at", "manifests"),
    [("copy.files.before_manifest", 0), ("copy.files.after_manifest", 1)],
)
def test_a_server_that_is_killed_leaves_a_whole_folder_or_no_manifest(
    tmp_path: Path, killed_at: str, manifests: int
) -> None:
    (tmp_path / "reclock.toml").write_text(f'exports = "{tmp_path}/out"\n')
    Environment.initialise(tmp_path).close()
    text = "COPY (SELECT 1 AS one) TO 'x' WITH (FORMAT = csv)"
    die_at(killed_at, storage_worker.execute, tmp_path, text)
    assert len(list((tmp_path / "out/x").glob("*.csv"))) == 1
    assert len(list((tmp_path / "out/x/_manifests").glob("*.json"))) == manifests


def test_a_bucket_gets_the_folder_over_the_connections_credentials(
    environment: Environment, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = s3_client(s3_endpoint)
    client.create_bucket(Bucket="handed-out")
    run(
        environment,
        f"CREATE SECRET key AS 'test'; CREATE CONNECTION s3 TO AWS (ENDPOINT '{s3_endpoint}', "
        "REGION 'us-east-1', ACCESS KEY ID 'test', SECRET ACCESS KEY SECRET key)",
    )

    def keys(prefix: str) -> list[str]:
        listed = client.list_objects_v2(Bucket="handed-out", Prefix=prefix)
        return [item["Key"] for item in listed.get("Contents", ())]

    copy = "COPY t TO 's3://handed-out/{}' WITH (FORMAT = 'parquet', AWS CONNECTION = s3)"
    assert run(environment, copy.format("daily/one")) == "COPY 3"
    [manifest] = [key for key in keys("daily/one/") if key.endswith(".json")]
    [file] = [key for key in keys("daily/one/") if key.endswith(".parquet")]
    body = json.loads(client.get_object(Bucket="handed-out", Key=manifest)["Body"].read())
    assert [f"daily/one/{named['path']}" for named in body["files"]] == [file]
    with pytest.raises(TargetNotEmpty):
        run(environment, copy.format("daily/one"))

    def overtake(name: str) -> None:
        if name == "copy.files.before_manifest":
            monkeypatch.setattr(failpoints, "on_reach", None)
            other = "daily/two/_manifests/00000000000000000001.json"
            client.put_object(Bucket="handed-out", Key=other, Body=b"{}")

    monkeypatch.setattr(failpoints, "on_reach", overtake)
    with pytest.raises(TargetNotEmpty):
        run(environment, copy.format("daily/two"))
    assert [key for key in keys("daily/two/") if key.endswith(".parquet")] == []

    append = export.Manifests.append

    def append_and_repeat(self: export.Manifests, manifest: dict[str, Any]) -> bool:
        assert append(self, manifest)
        return False  # what a repeated request answers

    monkeypatch.setattr(export.Manifests, "append", append_and_repeat)
    assert run(environment, copy.format("daily/three")) == "COPY 3"
    assert len(keys("daily/three/")) == 3

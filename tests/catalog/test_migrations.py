"""The ladder of migrations, and each of its steps."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from catalog_migrations.v0002_in_cluster_default import in_cluster_default
from fixtures.catalogs import SAMPLES, sample

from reclock.algebra.timestamps import MINIMUM
from reclock.catalog import migrations
from reclock.catalog.encoding import canonical, encode_rows
from reclock.catalog.initial import CATALOG_VERSION, initial_objects
from reclock.catalog.migrations import ladder, migrate
from reclock.catalog.objects import APPEND_ONLY, Kind, SkippedRange
from reclock.catalog.upgrade import load
from reclock.errors import CatalogVersionUnsupported, InternalError, MigrationFailed

VERSIONS = range(1, CATALOG_VERSION + 1)


def test_the_ladder_leads_to_the_present_version_without_a_gap() -> None:
    assert list(ladder()) == list(range(2, CATALOG_VERSION + 1))


def test_there_is_a_frozen_sample_of_every_version() -> None:
    assert sorted(path.name for path in SAMPLES.glob("*.json")) == [
        f"v{version:04}_sample.json" for version in VERSIONS
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_sample_upgrades_to_the_newest(version: int) -> None:
    migrated = migrate(sample(version), from_version=version, to_version=CATALOG_VERSION)
    assert migrated == sample(CATALOG_VERSION)
    load(migrated, MINIMUM)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sample_has_every_kind_that_its_version_kept(version: int) -> None:
    since = {
        Kind.CLUSTER: 2,
        Kind.CLUSTER_INTROSPECTION_SOURCE_INDEX: 3,
        Kind.CLUSTER_REPLICA: CATALOG_VERSION + 1,
        Kind.COMMENT: CATALOG_VERSION + 1,
        Kind.SKIPPED_RANGE: CATALOG_VERSION + 1,
    }
    expected = {kind for kind in set(Kind) - APPEND_ONLY if since.get(kind, 1) <= version}
    assert {kind for kind, _ in sample(version)} == expected


@pytest.mark.parametrize("module", sorted(SAMPLES.glob("v*.py")), ids=lambda path: path.stem)
def test_a_migration_imports_nothing_of_the_live_package(module: Path) -> None:
    imports = [
        node
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        name
        for node in imports
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    assert {name.partition(".")[0] for name in names if name} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CREATE INDEX i ON t (a)", "CREATE INDEX i IN CLUSTER default ON t (a)"),
        ("create default index on t", "create default index IN CLUSTER default on t"),
        ('CREATE INDEX "ON" ON "t ON" (a)', 'CREATE INDEX "ON" IN CLUSTER default ON "t ON" (a)'),
        ('CREATE INDEX "a""ON ""b" ON t', 'CREATE INDEX "a""ON ""b" IN CLUSTER default ON t'),
        ("CREATE INDEX i -- ON x\nON t", "CREATE INDEX i -- ON x\nIN CLUSTER default ON t"),
        (
            "CREATE INDEX /* ON /* ON */ ON */ i ON t",
            "CREATE INDEX /* ON /* ON */ ON */ i IN CLUSTER default ON t",
        ),
        ("CREATE INDEX on_time ON t", "CREATE INDEX on_time IN CLUSTER default ON t"),
        ("CREATE INDEX monON ON t", "CREATE INDEX monON IN CLUSTER default ON t"),
        ("CREATE INDEX größe_on ON t", "CREATE INDEX größe_on IN CLUSTER default ON t"),
        ("CREATE INDEX i\tON\nt", "CREATE INDEX i\tIN CLUSTER default ON\nt"),
        ("CREATE INDEX i/**/ON t", "CREATE INDEX i/**/IN CLUSTER default ON t"),
        (
            "CREATE INDEX i ON t ((a = 'x ON y'))",
            "CREATE INDEX i IN CLUSTER default ON t ((a = 'x ON y'))",
        ),
    ],
)
def test_an_index_goes_into_the_default_cluster(before: str, after: str) -> None:
    assert in_cluster_default(before) == after


@pytest.mark.parametrize(
    "text",
    ["CREATE INDEX i", 'CREATE INDEX "i ON t (a)', "CREATE INDEX /* ON t", "", "CREATE INDEX 'ON'"],
)
def test_a_statement_without_its_on_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"no ON|does not end"):
        in_cluster_default(text)


def objects(version: int) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "key": json.loads(key), "value": json.loads(value)}
        for (kind, key), value in sample(version).items()
    ]


def test_a_step_leaves_its_input_as_it_was() -> None:
    before = objects(1)
    ladder()[2](before)
    assert before == objects(1)


def test_there_is_no_way_back_and_none_over_a_gap() -> None:
    for found, wanted in ((2, 1), (0, 2), (2, CATALOG_VERSION + 1)):
        with pytest.raises(CatalogVersionUnsupported):
            migrate(sample(2), from_version=found, to_version=wanted)


def test_a_step_that_makes_two_objects_of_one_key_fails() -> None:
    with pytest.raises(MigrationFailed):
        migrate(sample(1), from_version=1, to_version=2, steps={2: lambda things: things + things})


def test_the_version_is_set_by_the_runner_at_each_step() -> None:
    versions: list[object] = []

    def look(things: list[dict[str, Any]]) -> list[dict[str, Any]]:
        versions.extend(t["value"]["value"] for t in things if t["key"] == {"key": "version"})
        return things

    migrate(sample(1), from_version=1, to_version=4, steps={2: look, 3: look, 4: look})
    assert versions == [1, 2, 3]


@pytest.mark.parametrize(
    "files",
    [["v0002_a.py", "v0004_b.py"], ["v0003_a.py"], ["v0002_a.py", "v0002_b.py"], ["stray.py"]],
)
def test_a_ladder_with_a_gap_or_a_stray_module_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str]
) -> None:
    package = ModuleType("broken_migrations")
    package.__path__ = [str(tmp_path)]
    for file in files:
        (tmp_path / file).write_text("def migrate(objects): return objects\n")
    monkeypatch.setitem(sys.modules, "broken_migrations", package)
    monkeypatch.setattr(migrations, "PACKAGE", "broken_migrations")
    with pytest.raises(InternalError):
        ladder.__wrapped__()


def test_spelled_privileges_become_letters_and_what_is_none_is_an_error() -> None:
    [system] = [entry for entry in objects(2) if entry["kind"] == "system_privilege"]
    several = {**system, "value": {"privileges": "CREATEDB, createrole"}}
    other_objects = [
        entry for entry in objects(2) if entry is not system and entry["kind"] != "system_privilege"
    ]
    assert [
        t["value"]
        for t in ladder()[3]([several, *other_objects])
        if t["kind"] == "system_privilege"
    ] == [{"privileges": "RB"}]
    with pytest.raises(ValueError, match="names no privileges"):
        ladder()[3]([{**system, "value": {"privileges": "FLY"}}, *other_objects])


def test_a_default_cluster_that_was_dropped_gets_no_source_indexes() -> None:
    remaining = [entry for entry in objects(2) if entry["kind"] != "cluster"]
    migrated = ladder()[3](remaining)
    assert not [
        entry for entry in migrated if entry["kind"] == "cluster_introspection_source_index"
    ]
    assert [t["value"] for t in migrated if t["key"] == {"name": "system"}] == [
        t["value"] for t in remaining if t["key"] == {"name": "system"}
    ]


def test_a_migrated_catalog_has_what_a_new_one_has() -> None:
    """The same introspection source indexes, and the same things that everyone may use."""
    rows = sample(CATALOG_VERSION)
    fresh = encode_rows(initial_objects())
    kinds = ("cluster_introspection_source_index",)
    assert {row for row in rows if row[0] in kinds} == {row for row in fresh if row[0] in kinds}
    shared = [row for row in rows if row[0] in ("cluster", "database", "schema") and row in fresh]
    assert len(shared) > 5
    assert all(rows[row] == fresh[row] for row in shared)


def skip_event(id: int, **details: object) -> tuple[tuple[str, str], str]:
    """A row of the audit log of version 5: a decision to skip."""
    value = {
        "event_type": "alter",
        "object_type": "source",
        "object_name": "s",
        "details": {"decision": "skip", **details},
        "user": "ada",
        "occurred_at": 7,
    }
    return ("audit_log", canonical({"id": id})), canonical(value)


def test_ranges_that_only_the_audit_log_knew_become_objects() -> None:
    rows = sample(5)
    sources = [json.loads(key)["id"] for (kind, key), _ in rows.items() if kind == "item"]
    events = dict(
        (
            skip_event(1, source=sources[0], partition="a", lower=4, upper=8),
            skip_event(2, source=sources[0], partition="a", lower=4, upper=6),
            skip_event(3, source=sources[1], partition="", lower=0, upper=2**70),
            skip_event(4, of=sources[0], partition="a", lower=None, upper=None),
            skip_event(5, source="u99", partition="a", lower=0, upper=1),
        )
    )
    migrated = migrate(rows, from_version=5, to_version=6, events=events)
    assert not any(kind in APPEND_ONLY for kind, _ in migrated), "events stay as they are"
    assert load(migrated, MINIMUM).sorted(Kind.SKIPPED_RANGE) == [
        SkippedRange(sources[0], "a", 4, 8),
        SkippedRange(sources[1], "", 0, 2**70),
    ]

"""Each check fails on the slice that breaks its promise, and on no other; nothing of one source's
touches another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import LazyLoader
from pathlib import Path
from threading import get_ident

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.quality import audit as audits
from reclock.quality.audit import SUITE_CHECK, audit
from reclock.quality.row_checks import RowCheck
from reclock.quality.slice import AuditSlice
from reclock.quality.suites import ROWS_LIMIT, suite_path

GOOD = AuditSlice(
    source="reclock.public.flights",
    upper=Timestamp(5),
    at=Timestamp(10),
    previous={"a": 3},
    bindings=[("a", 4), ("b", 9)],
    rows=3,
    min_time=Timestamp(10),
    max_time=Timestamp(10),
    null_diffs=0,
    covered={"a": 4, "b": 9},
    staged_files=[],
)
EMPTY = replace(GOOD, previous={}, bindings=[], rows=0, min_time=None, max_time=None, covered={})

PLANTED = {
    "an increment of zero": (
        replace(GOOD, bindings=[("a", 0), ("b", 9)], covered={"b": 9}),
        {"remap_increments_positive", "frontiers_monotonic"},
    ),
    "a frontier that falls": (
        replace(GOOD, bindings=[("a", -2), ("b", 9)], covered={"a": -2, "b": 9}),
        {"remap_increments_positive", "frontiers_monotonic"},
    ),
    "a frontier below the first offset": (
        replace(GOOD, previous={"a": -3}),
        {"frontiers_monotonic"},
    ),
    "a binding before the published upper": (
        replace(GOOD, upper=Timestamp(11)),
        {"bindings_inside_claim"},
    ),
    "a partition bound twice": (
        replace(GOOD, bindings=[("a", 2), ("a", 2), ("b", 9)]),
        {"partitions_bound_once"},
    ),
    "bound offsets that were not read": (
        replace(GOOD, covered={"a": 4}),
        {"ranges_read_as_bound"},
    ),
    "read offsets that were not bound": (
        replace(GOOD, covered={"a": 4, "b": 9, "c": 1}),
        {"ranges_read_as_bound"},
    ),
    "a row before its time": (replace(GOOD, min_time=Timestamp(9)), {"staged_times_bound"}),
    "a row after its time": (replace(GOOD, max_time=Timestamp(11)), {"staged_times_bound"}),
    "rows without times": (replace(GOOD, min_time=None, max_time=None), {"staged_times_bound"}),
    "times without rows": (replace(GOOD, rows=0), {"staged_times_bound"}),
    "rows without diffs": (replace(GOOD, null_diffs=1), {"staged_diffs_present"}),
    "more rows than offsets": (replace(GOOD, rows=14), {"rows_from_bound_offsets"}),
    "rows of nothing": (
        replace(EMPTY, rows=1, min_time=Timestamp(10), max_time=Timestamp(10)),
        {"rows_from_bound_offsets"},
    ),
}


def write_suite(folder: Path, source: str, *expectations: Mapping[str, object]) -> None:
    folder.mkdir(exist_ok=True)
    suite_path(folder, source).write_text(
        json.dumps({"name": source, "expectations": expectations})
    )


@pytest.fixture
def staged(tmp_path: Path) -> AuditSlice:
    path = tmp_path / "part-0.parquet"
    table = {"delay": [1, None, 3], "mz_timestamp": [10, 10, 10], "mz_diff": [1, 1, 1]}
    pq.write_table(pa.table(table), path)
    return replace(GOOD, staged_files=[str(path)])


@pytest.mark.parametrize(
    "sound",
    [GOOD, EMPTY, replace(GOOD, rows=0, min_time=None, max_time=None)],
    ids=["rows", "idle", "header only"],
)
def test_a_sound_slice_passes_every_check(sound: AuditSlice, tmp_path: Path) -> None:
    (result,) = audit([sound], docs_root=tmp_path / "docs")
    assert result.success
    assert result.names("passed") == [
        "remap_increments_positive",
        "frontiers_monotonic",
        "bindings_inside_claim",
        "partitions_bound_once",
        "ranges_read_as_bound",
        "staged_times_bound",
        "staged_diffs_present",
        "rows_from_bound_offsets",
    ]


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_fails_exactly_its_checks_with_evidence(
    planted: str, tmp_path: Path
) -> None:
    slice_, expected = PLANTED[planted]
    (result,) = audit([slice_], docs_root=tmp_path / "docs")
    assert not result.success
    assert set(result.names("failed")) == expected
    for check in result.checks:
        assert check.detail
        json.dumps(check.evidence)  # it goes into the claim
        if check.name in expected:
            assert check.evidence["unexpected_count"] >= 1
            assert check.evidence["examples"]


def test_a_fault_of_one_source_fails_that_source_alone(tmp_path: Path) -> None:
    other = replace(GOOD, source="reclock.public.weather", null_diffs=2)
    flights, weather = audit([GOOD, other], docs_root=tmp_path / "docs")
    assert (flights.success, weather.success) == (True, False)
    assert weather.source == "reclock.public.weather"


def test_a_waived_check_is_listed_and_blocks_nothing(tmp_path: Path) -> None:
    slice_ = replace(GOOD, null_diffs=1, min_time=Timestamp(9))
    (result,) = audit(
        [slice_],
        docs_root=tmp_path / "a",
        waived={GOOD.source: frozenset({"staged_diffs_present"})},
    )
    assert not result.success
    assert result.names("waived") == ["staged_diffs_present"]
    both = frozenset({"staged_diffs_present", "staged_times_bound", "of no check"})
    (result,) = audit(
        [slice_], docs_root=tmp_path / "b", waived={GOOD.source: both, "other": frozenset()}
    )
    assert result.success
    assert result.names("waived") == ["staged_times_bound", "staged_diffs_present"]
    assert not any(check.success for check in result.checks if check.status == "waived")


def test_a_users_suite_runs_over_the_staged_rows(staged: AuditSlice, tmp_path: Path) -> None:
    suites = tmp_path / "expectations"
    not_null = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "delay"}}
    in_range = {
        "type": "expect_column_values_to_be_between",
        "kwargs": {"column": "delay", "max_value": 2},
    }
    write_suite(
        suites,
        staged.source,
        {
            "type": "expect_column_to_exist",
            "kwargs": {"column": "delay"},
            "meta": {"check": "has_delay"},
        },
        not_null,
        in_range,
        {**in_range, "kwargs": {"column": "delay", "min_value": 2}},
        {
            "type": "expect_column_mean_to_be_between",
            "kwargs": {"column": "delay", "min_value": 50},
            "severity": "warning",
        },
        {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "nowhere"}},
    )
    waived = {staged.source: frozenset({"expect_column_values_to_be_between(delay)#2"})}
    (result,) = audit([staged], docs_root=tmp_path / "docs", suites=suites, waived=waived)
    assert not result.success
    assert "has_delay" in result.names("passed")
    assert result.names("failed") == [
        "expect_column_values_to_not_be_null(delay)",
        "expect_column_values_to_be_between(delay)",
        "expect_column_values_to_not_be_null(nowhere)",
    ]
    assert result.names("waived") == ["expect_column_values_to_be_between(delay)#2"]
    assert result.names("warned") == ["expect_column_mean_to_be_between(delay)"]
    assert "could not be evaluated" in result.checks[-1].detail


def test_check_constraints_are_checks_of_the_user_after_those_of_the_step(
    staged: AuditSlice, tmp_path: Path
) -> None:
    suites = tmp_path / "expectations"
    not_null = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "delay"}}
    write_suite(suites, staged.source, not_null)
    checks = [
        RowCheck("positive", "delay > 0", 3),
        RowCheck("short", "delay < 2", 3, 1, "3, null"),
        RowCheck("waived", "delay < 3", 3, 1),
        RowCheck("even", "delay % 0 = 0", 0, error="division by zero"),
        RowCheck("staged_diffs_present", "delay < 1", 3, 2, "1"),
    ]
    (result, other) = audit(
        [staged, replace(GOOD, source="other")],
        docs_root=tmp_path / "docs",
        suites=suites,
        waived={staged.source: frozenset({"waived", "staged_diffs_present"})},
        row_checks={staged.source: checks},
    )
    assert other.success
    assert not any(check.is_of_user for check in other.checks)
    assert [
        (check.name, check.status, check.detail) for check in result.checks if check.is_of_user
    ] == [
        ("positive", "passed", "CHECK (delay > 0) holds for 3 rows."),
        ("short", "failed", "1 of 3 rows violates CHECK (delay < 2), such as (3, null)"),
        ("waived", "waived", "1 of 3 rows violates CHECK (delay < 3)"),
        ("even", "failed", "CHECK (delay % 0 = 0) could not be evaluated: division by zero"),
        (
            "staged_diffs_present#2",
            "failed",
            "2 of 3 rows violate CHECK (delay < 1), such as (1)",
        ),
        (
            "expect_column_values_to_not_be_null(delay)",
            "failed",
            "1 of 3 do not meet it.",
        ),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{nope",
        '{"expectations": 3}',
        '{"expectations": [{"type": "expect_no_such_thing", "kwargs": {}}]}',
    ],
    ids=["no JSON", "no suite", "unknown expectation"],
)
def test_a_broken_suite_fails_its_own_source_as_a_check(
    text: str, staged: AuditSlice, tmp_path: Path
) -> None:
    suites = tmp_path / "expectations"
    suites.mkdir()
    suite_path(suites, staged.source).write_text(text)
    other = replace(staged, source="reclock.public.weather")
    broken, sound = audit([staged, other], docs_root=tmp_path / "docs", suites=suites)
    assert (broken.success, sound.success) == (False, True)
    assert broken.names("failed") == [SUITE_CHECK]
    (result,) = audit(
        [staged],
        docs_root=tmp_path / "docs",
        suites=suites,
        waived={staged.source: frozenset({SUITE_CHECK})},
    )
    assert result.success


def test_a_users_suite_sees_a_bounded_number_of_rows_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "part-0.parquet"
    pq.write_table(pa.table({"n": range(ROWS_LIMIT + 10)}), path, row_group_size=ROWS_LIMIT // 4)
    rows = ROWS_LIMIT + 10
    slice_ = replace(
        GOOD,
        staged_files=[str(path)],
        rows=rows,
        previous={},
        bindings=[("a", rows)],
        covered={"a": rows},
    )
    write_suite(
        tmp_path / "s",
        slice_.source,
        {"type": "expect_table_row_count_to_equal", "kwargs": {"value": ROWS_LIMIT}},
    )
    (result,) = audit([slice_], docs_root=tmp_path / "docs", suites=tmp_path / "s")
    assert result.success
    assert result.checks[-1].detail.endswith(f"(seen: the first {ROWS_LIMIT} of {rows} rows)")


def test_a_users_suite_has_nothing_to_check_in_a_step_without_rows(tmp_path: Path) -> None:
    without_rows = replace(GOOD, rows=0, min_time=None, max_time=None, staged_files=[])
    write_suite(
        tmp_path / "s",
        GOOD.source,
        {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "delay"}},
    )
    (result,) = audit([without_rows], docs_root=tmp_path / "docs", suites=tmp_path / "s")
    assert result.success


def test_the_file_of_a_suite_has_the_sources_name_without_quotes(tmp_path: Path) -> None:
    path = suite_path(tmp_path, 'reclock.public."Orders"')
    assert path == tmp_path / "reclock.public.Orders.json"


def test_a_suite_of_a_source_with_an_unusual_name_stays_in_its_folder(tmp_path: Path) -> None:
    assert suite_path(tmp_path, "reclock.public.../../etc/x").parent == tmp_path


def test_the_library_is_loaded_without_what_audits_seldom_need() -> None:
    this_thread, other_thread = audits._ImportingLess(get_ident()), audits._ImportingLess(0)
    with pytest.raises(ModuleNotFoundError):
        this_thread.find_spec("pyspark.ml", None)
    spec = this_thread.find_spec("altair", None)
    assert spec is not None
    assert isinstance(spec.loader, LazyLoader)
    assert this_thread.find_spec("pandas", None) is None
    assert (
        other_thread.find_spec("pyspark.ml", None) is other_thread.find_spec("altair", None) is None
    )


def test_what_is_imported_later_is_there_for_the_expectation_that_needs_it(
    staged: AuditSlice, tmp_path: Path
) -> None:
    halves = {"values": [1, 3], "weights": [0.5, 0.5]}
    divergence = {
        "type": "expect_column_kl_divergence_to_be_less_than",
        "kwargs": {"column": "delay", "partition_object": halves, "threshold": 0.1},
    }
    write_suite(tmp_path / "expectations", staged.source, divergence)
    (result,) = audit([staged], docs_root=tmp_path / "docs", suites=tmp_path / "expectations")
    assert result.success, result.checks[-1]


def test_importing_the_audit_does_not_import_great_expectations() -> None:
    code = (
        "import sys, reclock.quality.audit; sys.exit('great_expectations' in sys.modules or "
        "'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

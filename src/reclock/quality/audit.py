"""One pass of Great Expectations over the staged slices of a tick."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import structlog

from reclock.errors import ConfigurationError
from reclock.quality.results import AuditResult, ExpectationResult, Status
from reclock.quality.row_checks import RowCheck
from reclock.quality.slice import AuditSlice
from reclock.quality.suites import ROWS_LIMIT, UserExpectation, load_suite, read_rows, suite_path

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core import (
        ExpectationSuiteValidationResult,
        ExpectationValidationResult,
    )
    from great_expectations.data_context import AbstractDataContext
    from great_expectations.expectations.expectation import Expectation

log = structlog.get_logger(__name__)

_one_at_a_time = threading.Lock()
"""The library has one context for the process."""

ReadRows = Callable[[AuditSlice], "pd.DataFrame"]

SUITE_CHECK = "suite_valid"
"""The check that a user's suite can be read and run."""

EXAMPLES = 20
"""How many offending values a check records."""

_SHOWN = {
    "bindings": ["partition"],
    "ranges": ["partition"],
    "staged": ["rows", "min_time", "max_time", "null_diffs", "read_offsets"],
}
"""For each frame, the columns that identify an offending row."""


def audit(
    slices: Sequence[AuditSlice],
    *,
    docs_root: Path,
    suites: Path | None = None,
    waived: Mapping[str, frozenset[str]] | None = None,
    rows_of: ReadRows | None = None,
    row_checks: Mapping[str, Sequence[RowCheck]] | None = None,
) -> list[AuditResult]:
    """Check every slice. Returns one result for each, in their order.

    ``suites`` is the folder of users' suites. ``waived`` are the waived checks of each source: they
    run, and block nothing. ``rows_of`` reads the first rows of a slice's staged files, by default
    from local paths. ``row_checks`` are the results of each source's CHECK constraints; one with
    the name of a check of every step gets ``#2``. A suite that cannot be read, or an expectation
    that cannot be evaluated, is a failed check of its own source only. Results are added to the
    data docs under ``docs_root``; if that fails, it is logged, and no result changes.
    """
    if not slices:
        return []
    load()
    with _one_at_a_time:
        sources = _Sources(suites, waived or {}, rows_of or _read_local, row_checks or {})
        return _audit(slices, docs_root, sources)


def load() -> None:
    """Import the library, which takes seconds. It may be done in advance."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # before the import: it would call home
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    with _importing_less():
        from reclock.quality import docs, expectations, frames  # noqa: F401


_LATER = ("altair", "scipy.stats")
"""What the library imports for an expectation or two, and is imported when one of them is used."""


@contextmanager
def _importing_less() -> Iterator[None]:
    """In the block, this thread does not import Spark, as if it were not installed: the library
    does without it. What it seldom needs is imported later."""
    finder = _ImportingLess(threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@dataclass(frozen=True, slots=True)
class _ImportingLess(MetaPathFinder):
    """Finds modules for one thread, of those that are not imported yet."""

    thread: int

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if threading.get_ident() != self.thread:
            return None
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError(name=name)
        spec = PathFinder.find_spec(name, path) if name in _LATER else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@dataclass(frozen=True, slots=True)
class _Sources:
    """What `audit` takes about the sources, besides their slices."""

    suites: Path | None
    waived: Mapping[str, frozenset[str]]
    read: ReadRows
    row_checks: Mapping[str, Sequence[RowCheck]]


def _audit(slices: Sequence[AuditSlice], docs_root: Path, sources: _Sources) -> list[AuditResult]:
    from reclock.quality import docs

    context = _context()
    audited = [_audit_one(context, slice_, sources) for slice_ in slices]
    pages: list[str | None] = [None] * len(audited)
    try:
        entries = [(slice_, *results) for slice_, results in zip(slices, audited, strict=True)]
        pages[:] = docs.publish(docs_root, entries, datetime.now(UTC))
    except Exception as failure:  # the pages are for people: the results are stored without them
        log.warning("data docs could not be written", root=str(docs_root), error=str(failure))
    return [replace(result, docs=page) for (result, _), page in zip(audited, pages, strict=True)]


def _audit_one(
    context: AbstractDataContext, slice_: AuditSlice, sources: _Sources
) -> tuple[AuditResult, list[ExpectationSuiteValidationResult]]:
    from reclock.quality import expectations, frames

    suites, waived = sources.suites, sources.waived.get(slice_.source, frozenset())
    results = [
        _validate(
            context,
            slice_,
            "bindings",
            frames.bindings_frame(slice_),
            expectations.binding_expectations(slice_),
        ),
        _validate(
            context,
            slice_,
            "ranges",
            frames.ranges_frame(slice_),
            expectations.range_expectations(),
        ),
        _validate(
            context,
            slice_,
            "staged",
            frames.staged_frame(slice_),
            expectations.staged_expectations(),
        ),
    ]
    checks = [_check(result, waived) for validation in results for result in validation.results]
    names_of_steps = {check.name for check in checks}
    checks += [
        _row_check(check, f"{check.name}{'#2' if check.name in names_of_steps else ''}", waived)
        for check in sources.row_checks.get(slice_.source, ())
    ]
    if suites is not None:
        try:
            user = load_suite(suite_path(suites, slice_.source))
            if user and slice_.rows:  # of a step without rows there is nothing to check
                validation = _validate_user(context, slice_, sources.read(slice_), user)
                results.append(validation)
                checks += [
                    _user_check(result, waived, slice_.rows) for result in validation.results
                ]
        except Exception as failure:
            # the edge between a user's suite and the other sources: recorded as a check
            checks.append(_suite_failed(failure, waived))
    success = all(check.status != "failed" for check in checks)
    return AuditResult(slice_.source, success, tuple(checks)), results


def _context() -> AbstractDataContext:
    """A temporary context for this audit."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    return gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False),
        ),
    )


def _validate(
    context: AbstractDataContext,
    slice_: AuditSlice,
    name: str,
    frame: pd.DataFrame,
    expectations: Sequence[Expectation],
) -> ExpectationSuiteValidationResult:
    import great_expectations as gx

    asset_name = f"{slice_.source} {name}"
    asset = context.data_sources.add_or_update_pandas(asset_name).add_dataframe_asset(asset_name)
    batch = asset.add_batch_definition_whole_dataframe(name).get_batch({"dataframe": frame})
    suite = gx.ExpectationSuite(name=asset_name, expectations=list(expectations))
    shown = _SHOWN.get(name)
    named: dict[str, Any] = {"unexpected_index_column_names": shown} if shown else {}
    validation = batch.validate(
        suite,
        result_format={"result_format": "SUMMARY", "partial_unexpected_count": EXAMPLES} | named,
    )
    order = {
        str(expectation.meta["check"]): position
        for position, expectation in enumerate(expectations)
        if expectation.meta
    }
    validation.results.sort(key=lambda result: order[_name(result)])
    return validation


def _validate_user(
    context: AbstractDataContext,
    slice_: AuditSlice,
    rows: pd.DataFrame,
    user: Sequence[UserExpectation],
) -> ExpectationSuiteValidationResult:
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    expectations = [
        ExpectationConfiguration(**expectation.configuration).to_domain_obj()
        for expectation in user
    ]
    return _validate(context, slice_, "rows", rows, expectations)


def _row_check(check: RowCheck, name: str, waived: frozenset[str]) -> ExpectationResult:
    return ExpectationResult(
        name,
        check.is_met,
        _status(name, check.is_met, "critical", waived),
        check.detail,
        {"unexpected_count": check.violations} if check.violations else {},
        is_of_user=True,
    )


def _user_check(
    result: ExpectationValidationResult, waived: frozenset[str], rows: int
) -> ExpectationResult:
    """The check of a user's suite, which has seen the first of the ``rows``."""
    check = replace(_check(result, waived), is_of_user=True)
    if rows <= ROWS_LIMIT:
        return check
    return replace(check, detail=f"{check.detail} (seen: the first {ROWS_LIMIT} of {rows} rows)")


def _check(result: ExpectationValidationResult, waived: frozenset[str]) -> ExpectationResult:
    name, success = _name(result), bool(result.success)
    configuration = result.expectation_config
    severity = (
        str(getattr(configuration, "severity", None) or "critical").rpartition(".")[2].lower()
    )
    description = str(getattr(configuration, "description", None) or "")
    detail = description or "It holds."
    raised = _raised(result)
    if raised:
        detail = f"could not be evaluated: {raised}"
    elif not success:
        detail = " ".join(filter(None, (description, _observed(result.result))))
    return ExpectationResult(
        name,
        success,
        _status(name, success, severity, waived),
        detail,
        {} if success else _evidence(result.result),
    )


def _status(name: str, success: bool, severity: str, waived: frozenset[str]) -> Status:
    if success:
        return "passed"
    if name in waived:
        return "waived"
    return "failed" if severity == "critical" else "warned"


def _suite_failed(failure: Exception, waived: frozenset[str]) -> ExpectationResult:
    detail = failure.detail if isinstance(failure, ConfigurationError) else None
    return ExpectationResult(
        SUITE_CHECK,
        False,
        _status(SUITE_CHECK, False, "critical", waived),
        f"the attached suite could not be run: {failure}" + (f": {detail}" if detail else ""),
        {"error": type(failure).__name__},
        is_of_user=True,
    )


def _name(result: ExpectationValidationResult) -> str:
    meta = getattr(result.expectation_config, "meta", None) or {}
    return str(meta.get("check") or getattr(result.expectation_config, "type", ""))


def _raised(result: ExpectationValidationResult) -> str | None:
    """Why an expectation could not be evaluated, or None."""
    info = result.exception_info or {}
    entries = (
        [info]
        if "raised_exception" in info
        else [entry for entry in info.values() if isinstance(entry, dict)]
    )
    messages = [
        str(entry.get("exception_message")) for entry in entries if entry.get("raised_exception")
    ]
    return "; ".join(messages) or None


def _observed(result: Mapping[str, Any]) -> str:
    """What a check that failed has seen, as a sentence."""
    if result.get("unexpected_count"):
        examples = _examples(result)
        such_as = f", such as {_shown(_plain(examples[0]))}" if examples else ""
        return f"{result['unexpected_count']} of {result.get('element_count')} do not meet it{such_as}."
    observed = result.get("observed_value")
    return f"Observed: {observed}." if observed is not None else "It does not hold."


def _shown(example: object) -> str:
    if isinstance(example, dict):
        return ", ".join(f"{name} {value}" for name, value in example.items())
    return str(example)


def _examples(result: Mapping[str, Any]) -> Sequence[Any]:
    """Values, or rows by column, that do not meet the expectation. A NULL is no example."""
    import pandas as pd

    by_row = result.get("partial_unexpected_index_list")
    if by_row and isinstance(by_row[0], dict):
        return list(by_row)
    values = result.get("partial_unexpected_list", [])
    return [value for value in values if not (pd.api.types.is_scalar(value) and pd.isna(value))]


def _evidence(result: Mapping[str, Any]) -> dict[str, Any]:
    evidence = {
        "observed": _plain(result.get("observed_value")),
        "unexpected_count": _plain(result.get("unexpected_count")),
        "examples": _plain(_examples(result)[:EXAMPLES]),
    }
    return {name: value for name, value in evidence.items() if value not in (None, [])}


def _plain(value: Any) -> object:
    """The value, with types that JSON does not have as text."""
    match value:
        case dict():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple() | set():
            return [_plain(inner) for inner in value]
        case bool() | int() | str() | None:
            return value
        case _ if hasattr(value, "tolist"):  # of numpy
            return _plain(value.tolist())
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)
        case _:
            return str(value)


def _read_local(slice_: AuditSlice) -> pd.DataFrame:
    return read_rows(slice_.staged_files)

"""Users' own suites: Great Expectations' JSON, one file a source, run over the rows that are about to be committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclock.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.fs as pafs

ROWS_LIMIT = 100_000
"""A user's suite sees at most so many rows of a slice, the first ones of the staged files; the details say when there were more."""


class _Expectation(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str
    kwargs: dict[str, Any] = Field(default_factory=dict)
    meta: dict[str, Any] = Field(default_factory=dict)


class _Suite(BaseModel):
    model_config = ConfigDict(extra="allow")
    expectations: list[_Expectation]


@dataclass(frozen=True, slots=True)
class UserExpectation:
    """One expectation of a user's suite. ``check`` is its stable name; ``configuration`` is what Great Expectations takes."""

    check: str
    configuration: dict[str, Any]


def suite_path(folder: Path, source: str) -> Path:
    """Where the suite of ``source`` lies: ``<folder>/<database.schema.name>.json``, unusual characters percent-encoded."""
    return folder / f"{quote(source, safe='.')}.json"


def load_suite(path: Path) -> list[UserExpectation]:
    """The expectations of the suite at ``path``, none if there is no such file. Raises ``ConfigurationError``.

    A check's name is ``meta.check`` if given, else the expectation's type with its columns; the second of a name gets ``#2``.
    """
    try:
        suite = _Suite.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValidationError) as invalid:
        raise ConfigurationError(f'invalid expectation suite "{path.name}"', detail=str(invalid)) from invalid
    seen: dict[str, int] = {}
    named = []
    for expectation in suite.expectations:
        name = str(expectation.meta.get("check") or _name(expectation))
        seen[name] = seen.get(name, 0) + 1
        check = name if seen[name] == 1 else f"{name}#{seen[name]}"
        named.append(UserExpectation(check, expectation.model_dump() | {"meta": expectation.meta | {"check": check}}))
    return named


def read_rows(files: Sequence[str], *, limit: int = ROWS_LIMIT, filesystem: pafs.FileSystem | None = None) -> pd.DataFrame:
    """The first ``limit`` rows of the Parquet ``files``, in their order; never reads more row groups than that needs."""
    import pandas as pd
    import pyarrow.dataset as ds

    if not files:
        return pd.DataFrame()
    paths = [file.removeprefix("file://") for file in files]
    rows: pd.DataFrame = ds.dataset(paths, format="parquet", filesystem=filesystem).head(limit).to_pandas()
    return rows


def _name(expectation: _Expectation) -> str:
    columns = [expectation.kwargs[key] for key in ("column", "column_A", "column_B") if key in expectation.kwargs]
    columns += expectation.kwargs.get("column_list", [])
    return f"{expectation.type}({', '.join(map(str, columns))})" if columns else expectation.type

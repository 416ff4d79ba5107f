"""Users' own suites: Great Expectations' JSON, one file for each source, run over the rows that are
about to be committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclock.errors import ConfigurationError, unquoted_name

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.fs as pafs

ROWS_LIMIT = 100_000
"""How many rows of a slice a user's suite checks: the first ones of the staged files. The details
say if there were more."""


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
    """One expectation of a user's suite. ``check`` is its stable name; ``configuration`` is in
    Great Expectations' form."""

    check: str
    configuration: dict[str, Any]


def suite_path(folder: Path, source: str) -> Path:
    """The path of the suite of ``source``: ``<folder>/<database.schema.name>.json``, without the
    quotes of SQL, unusual characters percent-encoded."""
    return folder / f"{quote(unquoted_name(source), safe='.')}.json"


def load_suite(path: Path) -> list[UserExpectation]:
    """The expectations of the suite at ``path``; none if there is no such file. Raises
    ``ConfigurationError``.

    A check's name is ``meta.check``, or the expectation's type with its columns. A second one of
    the same name gets ``#2``.
    """
    try:
        suite = _Suite.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValidationError) as invalid:
        raise ConfigurationError(
            f'invalid expectation suite "{path.name}"', detail=str(invalid)
        ) from invalid
    counts: dict[str, int] = {}
    named = []
    for expectation in suite.expectations:
        name = str(expectation.meta.get("check") or _name(expectation))
        counts[name] = counts.get(name, 0) + 1
        check = name if counts[name] == 1 else f"{name}#{counts[name]}"
        named.append(
            UserExpectation(
                check, expectation.model_dump() | {"meta": expectation.meta | {"check": check}}
            )
        )
    return named


def read_rows(
    files: Sequence[str], *, limit: int = ROWS_LIMIT, filesystem: pafs.FileSystem | None = None
) -> pd.DataFrame:
    """The first ``limit`` rows of the Parquet ``files``, in their order. Reads only the row groups
    that it needs."""
    import pandas as pd
    import pyarrow.dataset as ds

    if not files:
        return pd.DataFrame()
    paths = [file.removeprefix("file://") for file in files]
    rows: pd.DataFrame = (
        ds.dataset(paths, format="parquet", filesystem=filesystem).head(limit).to_pandas()
    )
    return rows


def _name(expectation: _Expectation) -> str:
    columns = [
        expectation.kwargs[key]
        for key in ("column", "column_A", "column_B")
        if key in expectation.kwargs
    ]
    columns += expectation.kwargs.get("column_list", [])
    return f"{expectation.type}({', '.join(map(str, columns))})" if columns else expectation.type

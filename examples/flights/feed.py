"""The upstream of the demo: nycflights13 as CSV objects in a bucket, appended to hour by hour.

One object holds the flights (or the weather) of one airport and day, so that each step makes
several objects longer and begins new ones. Airlines, airports and planes do not change with the
hour; they come at the first step, the planes in two parts.
"""

from __future__ import annotations

import csv
import io
import sysconfig
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

DATA = Path(sysconfig.get_path("purelib")) / "nycflights13" / "data"
FIRST_HOUR = datetime(2013, 1, 1, 5, tzinfo=UTC)
"""Midnight in New York."""

Record = Sequence[str]


@dataclass(frozen=True)
class Appended:
    """What one step added to the bucket."""

    until: datetime
    objects_begun: int
    objects_grown: int
    bytes_added: int
    rows: dict[str, int]
    """By source: how many records its objects hold now."""


class Feed:
    """Lays out the first ``days`` of the data in ``bucket`` in ``steps`` steps of equal length."""

    def __init__(self, bucket: Path, *, days: int, steps: int) -> None:
        self._bucket = bucket
        self._steps = steps
        self._length = timedelta(days=days) / steps
        moments = (FIRST_HOUR + timedelta(days=later) for later in (0, days, days + 2))
        first, end, beyond = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in moments)
        self._headers: dict[str, Record] = {}
        self._dimensions: dict[str, list[Record]] = {}
        self._hourly: list[tuple[datetime, str, str, Record]] = []
        for name in ("airlines", "airports", "planes"):
            self._headers[name], *self._dimensions[name] = _records(name)
        for name in ("flights", "weather"):
            records = _records(name)
            self._headers[name] = next(records)
            at, place = self._headers[name].index("time_hour"), self._headers[name].index("origin")
            for record in records:
                if name == "flights" and record[at] > beyond:
                    break  # the flights are in order of day
                if first <= record[at] < end:
                    self._hourly.append(
                        (datetime.fromisoformat(record[at]), name, record[place], record)
                    )
        self._hourly.sort(key=lambda row: row[0])

    def append(self, step: int) -> Appended:
        """Append what step ``step``, counted from 1, adds. Must be called once a step, in order."""
        lower, upper = FIRST_HOUR + (step - 1) * self._length, FIRST_HOUR + step * self._length
        pending: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for hour, name, origin, record in self._hourly:
            if lower <= hour < upper:
                local_day = hour.astimezone(UTC) - timedelta(hours=5)
                pending[name, f"{name}/{local_day:%Y-%m-%d}/{origin}.csv"].append(record)
        for name, records in self._dimensions.items():
            half = len(records) // 2 if name == "planes" else len(records)
            first, second = records[:half], records[half:]
            if step == 1:
                pending[name, f"{name}.csv"] = first
            elif step == 2 and second:
                pending[name, f"{name}.csv"] = second
        begun = grown = size = 0
        for (name, key), records in sorted(pending.items()):
            path = self._bucket / key
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            text = _text([self._headers[name], *records] if is_new else records)
            with path.open("ab") as file:
                file.write(text)
            begun, grown, size = begun + is_new, grown + (not is_new), size + len(text)
        return Appended(upper, begun, grown, size, self.count())

    def count(self) -> dict[str, int]:
        """By source, the records that lie in the bucket, counted in its files."""
        counted = dict.fromkeys(self._headers, 0)
        for path in self._bucket.rglob("*.csv"):
            name = path.relative_to(self._bucket).parts[0].removesuffix(".csv")
            with path.open(newline="") as file:
                counted[name] += sum(1 for _ in csv.reader(file)) - 1
        return counted


def _records(name: str) -> Iterator[Record]:
    """The header and the records of one of the package's tables. Its ``data`` is read directly: its
    code no longer imports."""
    if name == "flights":
        with (
            zipfile.ZipFile(DATA / "flights.csv.zip") as archive,
            archive.open("flights.csv") as member,
        ):
            yield from csv.reader(io.TextIOWrapper(member, encoding="utf-8", newline=""))
    else:
        with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            yield from csv.reader(file)


def _text(records: Sequence[Record]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(records)
    return buffer.getvalue().encode()

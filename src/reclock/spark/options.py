"""The options of the data source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reclock.client.connection import reject_url
from reclock.client.statements import relation_name, timestamp_ms
from reclock.errors import InvalidOption
from reclock.spark.queries import MAXIMUM_PARTITIONS

_NAMES = ("path", "home", "url", "user", "asOf", "changes", "numPartitions", "pushFilters")


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """The times from ``lower`` to ``upper``, which is exclusive."""

    lower: int | None
    """None: the rows at ``asOf`` come first, and then the changes at later times."""
    upper: int | None
    """None for all times that are complete."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a reader asks for."""

    relation: str
    """As SQL writes it."""
    location: str
    """A server's URL, or the absolute path of a home."""
    is_url: bool
    user: str | None
    as_of: int | None
    changes: ChangeRange | None
    partitions: int | None
    """None: as many as suit the relation."""
    pushes_filters: bool


def parse_options(options: Mapping[str, str]) -> SourceOptions:
    """The options that Spark passes, whose names have no case. Raises ``InvalidOption`` and
    ``SqlSyntaxError``."""
    by_name = {name.lower(): value for name, value in options.items()}
    known = {name.lower() for name in _NAMES}
    for name in sorted(by_name.keys() - known):
        raise InvalidOption(f'unknown option "{name}"', hint=f"options are {', '.join(_NAMES[1:])}")
    home, url = by_name.get("home"), by_name.get("url")
    if home is not None:
        reject_url(home)
    if (home is None) == (url is None):
        raise InvalidOption("exactly one of the options home and url is needed")
    if url is not None and "user" in by_name:
        raise InvalidOption("the option user is for a home", hint="a URL names its user")
    if "path" not in by_name:
        raise InvalidOption(
            "no relation to read", hint='name it in load, as in load("public.orders")'
        )
    changes = _range(by_name["changes"]) if "changes" in by_name else None
    if changes is not None and changes.lower is not None and "asof" in by_name:
        raise InvalidOption(
            "asOf and the times of changes exclude each other",
            hint="write changes = true to begin at asOf",
        )
    return SourceOptions(
        relation=relation_name(by_name["path"]),
        location=url if url is not None else str(Path(home or "").expanduser().absolute()),
        is_url=url is not None,
        user=by_name.get("user"),
        as_of=timestamp_ms(by_name["asof"]) if "asof" in by_name else None,
        changes=changes,
        partitions=(
            _count("numPartitions", by_name["numpartitions"])
            if "numpartitions" in by_name
            else None
        ),
        pushes_filters=_boolean("pushFilters", by_name.get("pushfilters", "false")),
    )


def _range(text: str) -> ChangeRange | None:
    if text.lower() in ("true", "false"):
        return ChangeRange(None, None) if text.lower() == "true" else None
    first, separator, end = text.partition("..")
    lower = timestamp_ms(first) if separator else 0
    upper = timestamp_ms(end) if end else None
    if lower < 1 or (upper is not None and upper < lower):
        raise InvalidOption(
            f'changes cannot be "{text}"',
            hint=(
                "write true, or the first time and the exclusive last one: "
                "1795263876818..1795263886818"
            ),
        )
    return ChangeRange(lower, upper)


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidOption(f'{name} cannot be "{text}"', hint="write true or false")
    return text.lower() == "true"


def _count(name: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAXIMUM_PARTITIONS:
        raise InvalidOption(
            f'{name} cannot be "{text}"', hint=f"write a number from 1 to {MAXIMUM_PARTITIONS}"
        )
    return int(text)

"""What a visitor asks the overview page for: which objects it shows, and how often it reloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reclock.introspection.overview import LATE, ObjectOverview

RELOADS_S = (5, 10, 60)
"""Every how many seconds the page can reload itself."""

PROBLEM = "problem"
"""Stands for every status of an object that needs attention or waits for one that does."""


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The objects whose name contains ``name``, in any case, with this type and status; an empty
    text filters nothing. The page reloads itself every ``reload_s`` seconds, with 0 never."""

    name: str = ""
    type: str = ""
    status: str = ""
    reload_s: int = 0

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> PageQuery:
        """From the parameters of an address. A span of ``reload`` that is not offered is 0."""
        reload = parameters.get("reload", "")
        return cls(
            parameters.get("name", "").strip(),
            parameters.get("type", ""),
            parameters.get("status", ""),
            int(reload) if reload in map(str, RELOADS_S) else 0,
        )

    @property
    def is_filter(self) -> bool:
        return bool(self.name or self.type or self.status)

    def shows(self, object: ObjectOverview) -> bool:
        is_wanted = self.status in ("", object.status) or (
            self.status == PROBLEM and (object.is_problem or object.status == LATE)
        )
        return (
            is_wanted
            and self.type in ("", object.type)
            and self.name.casefold() in object.name.casefold()
        )

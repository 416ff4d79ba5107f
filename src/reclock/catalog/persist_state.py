"""The table of a persist catalog at one version, by its log alone."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.timestamps import CATALOG, MINIMUM, Timestamp
from reclock.catalog import update_files
from reclock.catalog.update_files import Holds
from reclock.collections.delta_log import DeltaLog, log_entry
from reclock.collections.files import DataFile
from reclock.collections.folder import LOG
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import CatalogCorrupt, NotReadable, UpperMismatch

UPPER = "catalog.upper"
EPOCH = "catalog.epoch"
DEPLOY_GENERATION = "catalog.deploy_generation"
SINCE = "catalog.since"
ROWS = "catalog.rows"
ALWAYS = frozenset({UPPER, EPOCH, DEPLOY_GENERATION, ROWS})
"""The application transactions of every commit. An earlier build wrote no since; the table keeps the last one that was written."""


@dataclass(frozen=True, slots=True)
class PersistState:
    """Version -1: there is no table."""

    version: int = -1
    upper: Timestamp = MINIMUM
    leadership: Leadership | None = None
    files: tuple[DataFile, ...] = ()
    since: Timestamp = MINIMUM

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def transactions(self, rows: int) -> dict[str, int]:
        """What a commit says that leaves the table with this upper, leadership and since, and so many updates."""
        assert self.leadership is not None
        return {
            UPPER: self.upper,
            EPOCH: self.leadership.epoch,
            DEPLOY_GENERATION: self.leadership.deploy_generation,
            SINCE: self.since,
            ROWS: rows,  # last: where an entry is cut before its end, this is missing
        }

    def require_upper(self, expected: Timestamp) -> None:
        """Raises ``UpperMismatch`` unless the upper is ``expected``."""
        if self.upper != expected:
            raise UpperMismatch(CATALOG, expected=expected, found=self.upper)

    def require_readable(self, at: Timestamp) -> None:
        """Raises ``NotReadable`` if ``at`` is before since."""
        if at < self.since:
            raise NotReadable("catalog", at=at, since=self.since, upper=self.upper)

    @property
    def appended(self) -> list[DataFile]:
        """The files of appends that are not merged yet."""
        return [file for file in self.files if update_files.holds(file.path) is Holds.APPEND]


def read_state(log: DeltaLog) -> PersistState:
    """The state at the version that ``log`` has last seen. Raises ``CatalogCorrupt``."""
    if not log.version:
        return PersistState(0)
    said = log.last_transactions()
    if not said.keys() >= ALWAYS:
        raise CatalogCorrupt("file", log_entry(log.version), detail="it is cut: it does not say all that a commit says")
    upper, rows = said[UPPER], said[ROWS]
    leadership = Leadership(said[EPOCH], said[DEPLOY_GENERATION])
    state = PersistState(log.version, Timestamp(upper), leadership, log.files(), Timestamp(log.transaction(SINCE) or MINIMUM))
    if state.rows != rows:
        raise CatalogCorrupt("file", LOG, detail=f"its files have {state.rows} updates, but {rows} were written")
    beyond = next((file for file in state.files if file.max_time >= upper), None)
    if beyond is not None:
        raise CatalogCorrupt("file", beyond.path, detail=f"it has updates at {beyond.max_time}, but the catalog's upper is {upper}")
    return state

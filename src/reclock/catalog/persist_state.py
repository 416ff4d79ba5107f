"""The state of a persist catalog's table at one version, read from the table's log alone."""

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
"""The application transactions that every commit has. Commits of an early release have no since;
the last since that was written stays in force."""


@dataclass(frozen=True, slots=True)
class PersistState:
    """The state of the table at ``version``; version -1 means that there is no table."""

    version: int = -1
    upper: Timestamp = MINIMUM
    leadership: Leadership | None = None
    files: tuple[DataFile, ...] = ()
    since: Timestamp = MINIMUM

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def transactions(self, rows: int) -> dict[str, int]:
        """The application transactions of a commit after which the table has this state and
        ``rows`` updates."""
        assert self.leadership is not None
        return {
            UPPER: self.upper,
            EPOCH: self.leadership.epoch,
            DEPLOY_GENERATION: self.leadership.deploy_generation,
            SINCE: self.since,
            ROWS: rows,  # last: an entry that is cut before its end lacks it
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
        """The files of appends that have not been merged yet."""
        return [file for file in self.files if update_files.holds(file.path) is Holds.APPEND]


def read_state(log: DeltaLog) -> PersistState:
    """The state at the version that ``log`` has last seen. Raises ``CatalogCorrupt``."""
    if not log.version:
        return PersistState(0)
    transactions = log.last_transactions()
    if not transactions.keys() >= ALWAYS:
        raise CatalogCorrupt(
            "file",
            log_entry(log.version),
            detail="it is cut: it does not say all that a commit says",
        )
    upper, rows = transactions[UPPER], transactions[ROWS]
    leadership = Leadership(transactions[EPOCH], transactions[DEPLOY_GENERATION])
    state = PersistState(
        log.version,
        Timestamp(upper),
        leadership,
        log.files(),
        Timestamp(log.transaction(SINCE) or MINIMUM),
    )
    if state.rows != rows:
        raise CatalogCorrupt(
            "file", LOG, detail=f"its files have {state.rows} updates, but {rows} were written"
        )
    beyond = next((file for file in state.files if file.max_time >= upper), None)
    if beyond is not None:
        raise CatalogCorrupt(
            "file",
            beyond.path,
            detail=f"it has updates at {beyond.max_time}, but the catalog's upper is {upper}",
        )
    return state

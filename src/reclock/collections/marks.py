"""Store marks: each of the two stores records the other's progress, to detect a rollback of one.

A mark is a number with a random token. Consensus allocates the number, the lake stores a file of
that name, and then consensus records that the lake has it. So, wherever a process crashes:

- consensus has allocated every number that the lake has, unless consensus was rolled back;
- the lake has every number that consensus has recorded, unless the lake was rolled back.

The file also contains the highest timestamp of each of the oracle's timelines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

import sqlalchemy as sa
import structlog

from reclock.algebra.timestamps import MINIMUM, Clock, Timestamp
from reclock.collections.folder import Folder
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import StoreRolledBack, plain_text
from reclock.oracle.oracle import written_times

_logger = structlog.get_logger(__name__)

_FOLDER = "marks"

_marks = sa.Table(
    "reclock_store_mark",
    metadata,
    sa.Column(
        "one", sa.Integer, sa.CheckConstraint("one = 1"), primary_key=True, autoincrement=False
    ),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("in_lake", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class ConsensusMark:
    """The last mark allocated, and the last known to be in the lake; zeros before the first."""

    number: int = 0
    token: str = ""
    in_lake: int = 0


@dataclass(frozen=True, slots=True)
class LakeMark:
    """The newest mark in the lake; zeros before the first."""

    number: int = 0
    token: str = ""
    at: Timestamp = MINIMUM
    timelines: Mapping[str, Timestamp] | None = None


def check(before: ConsensusMark, lake: LakeMark, after: ConsensusMark) -> None:
    """Compare the lake's mark with those of consensus from before and after the lake was read.
    Raises ``StoreRolledBack``."""
    if lake.number > after.number or (lake.number == after.number and lake.token != after.token):
        raise StoreRolledBack("consensus", "the lake", found=after.number, expected=lake.number)
    if lake.number < before.in_lake:
        raise StoreRolledBack("the lake", "consensus", found=lake.number, expected=before.in_lake)


class StoreMarks:
    """The marks of one environment."""

    def __init__(
        self,
        consensus: Consensus,
        lake: Folder,
        clock: Clock,
        leadership: Callable[[], Leadership],
        *,
        interval_ms: int,
    ) -> None:
        """Only a process whose ``leadership`` has the current epoch can write marks."""
        self._consensus = consensus
        self._folder = Folder(f"{lake.uri}/{_FOLDER}", lake.storage_options)
        self._clock = clock
        self._leadership = leadership
        self._interval_ms = interval_ms
        self._marked_at: Timestamp | None = None

    def newest_in_lake(self) -> LakeMark:
        """The newest complete mark.
        A file that a crash left incomplete was never recorded in consensus."""
        for _ in range(_ATTEMPTS):
            for path in sorted((info.path for info in self._folder.walk("")), reverse=True):
                number, _, token = path.removesuffix(".json").partition("-")
                try:
                    with self._folder.filesystem.open_input_stream(path) as file:
                        content = json.loads(file.read())
                    return LakeMark(
                        int(number), token, Timestamp(content["at"]), content["timelines"]
                    )
                except FileNotFoundError:
                    break  # replaced by a newer mark: list again
                except (ValueError, KeyError):
                    continue
            else:
                return LakeMark()
        return LakeMark()

    def check(self) -> LakeMark:
        """The lake's newest mark. Raises ``StoreRolledBack``."""
        before = self._consensus.read(_current)
        lake = self.newest_in_lake()
        check(before, lake, self._consensus.read(_current))
        return lake

    def is_new(self) -> bool:
        """Whether consensus has never allocated a mark."""
        return self._consensus.read(_current) == ConsensusMark()

    def refresh(self) -> None:
        """Write a new mark if the last that this process knows is older than the interval. A lake
        that takes no file now gets the next mark an interval later. Raises ``StoreRolledBack``."""
        now = self._clock()
        if self._marked_at is None:
            self._marked_at = self.check().at
        if abs(now - self._marked_at) < self._interval_ms:
            return
        try:
            self.write()
        except OSError as failure:  # full or read-only: what is there can be read
            _logger.warning("the lake takes no mark", error=plain_text(failure))
            self._marked_at = now

    def write(self, *, above: int = 0) -> None:
        """Write a new mark, with a number above ``above``, to both stores. Durable when this
        returns. Raises ``StoreRolledBack``, ``Fenced``."""
        leadership = self._leadership()
        # a mark over a loss would hide it from those who open the environment later
        before = ConsensusMark() if above else self._consensus.read(_current)
        lake = self.newest_in_lake()
        token, now = uuid4().hex, self._clock()

        def allocate(connection: sa.Connection) -> tuple[int, Mapping[str, Timestamp]]:
            fence.check(connection, leadership)
            current = _current(connection)
            if not above:
                check(before, lake, current)
            number = max(current.number, above) + 1
            _store(connection, ConsensusMark(number, token, current.in_lake))
            return number, written_times(connection)

        number, timelines = self._consensus.transact(allocate)
        path = f"{number:012}-{token}.json"
        self._folder.make()
        with self._folder.open_to_write(path) as file:
            file.write(json.dumps({"at": now, "timelines": timelines}).encode())
        self._folder.sync([path])
        self._consensus.transact(lambda connection: _record_in_lake(connection, number))
        self._folder.delete(
            info.path for info in self._folder.walk("") if info.path < f"{number:012}"
        )
        self._marked_at = now


_ATTEMPTS = 10


def _current(connection: sa.Connection) -> ConsensusMark:
    row = connection.execute(sa.select(_marks)).one_or_none()
    return ConsensusMark(row.number, row.token, row.in_lake) if row else ConsensusMark()


def _store(connection: sa.Connection, mark: ConsensusMark) -> None:
    values = {"number": mark.number, "token": mark.token, "in_lake": mark.in_lake}
    if connection.execute(sa.update(_marks).values(values)).rowcount == 0:
        connection.execute(sa.insert(_marks).values(one=1, **values))


def _record_in_lake(connection: sa.Connection, number: int) -> None:
    connection.execute(sa.update(_marks).where(_marks.c.in_lake < number).values(in_lake=number))

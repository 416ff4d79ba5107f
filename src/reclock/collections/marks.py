"""Marks: each of the two stores remembers how far the other had come, so that one put back in time is found out.

A mark is a number with a random token. Consensus hands out the number, the lake stores a file of that name,
and then consensus notes that the lake has it. So, whatever crashes between:

- consensus has handed out every number that the lake holds, unless consensus was put back in time;
- the lake holds every number that consensus has noted, unless the lake was.

The file also says how far each timeline of the oracle was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

import sqlalchemy as sa

from reclock.algebra.timestamps import MINIMUM, Clock, Timestamp
from reclock.collections.folder import Folder
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import StoreRolledBack
from reclock.oracle.oracle import written_times

_FOLDER = "marks"

_marks = sa.Table(
    "reclock_store_mark",
    metadata,
    sa.Column("one", sa.Integer, sa.CheckConstraint("one = 1"), primary_key=True, autoincrement=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("in_lake", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class ConsensusMark:
    """The last mark that consensus handed out, and the last that it knows to be in the lake; zeros before the first."""

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
    """Compare the lake's mark with those that consensus had before and after the lake was read. Raises ``StoreRolledBack``."""
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
        """Only an actor of the present epoch, by ``leadership``, writes marks."""
        self._consensus = consensus
        self._folder = Folder(f"{lake.uri}/{_FOLDER}", lake.storage_options)
        self._clock = clock
        self._leadership = leadership
        self._interval_ms = interval_ms
        self._marked_at: Timestamp | None = None

    def newest_in_lake(self) -> LakeMark:
        """A file that a crash left incomplete was never noted in consensus, and does not count."""
        for _ in range(_ATTEMPTS):
            for path in sorted((info.path for info in self._folder.walk("")), reverse=True):
                number, _, token = path.removesuffix(".json").partition("-")
                try:
                    with self._folder.filesystem.open_input_stream(path) as file:
                        said = json.loads(file.read())
                    return LakeMark(int(number), token, Timestamp(said["at"]), said["timelines"])
                except FileNotFoundError:
                    break  # a newer one has come
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
        """Whether consensus never handed out a mark."""
        return self._consensus.read(_current) == ConsensusMark()

    def refresh(self) -> None:
        """Write a new mark, if the last one that this process knows of is old. Raises ``StoreRolledBack``."""
        now = self._clock()
        if self._marked_at is None:
            self._marked_at = self.check().at
        if abs(now - self._marked_at) >= self._interval_ms:
            self.write()

    def write(self, *, above: int = 0) -> None:
        """Both stores have a new mark, of a number greater than ``above``, when this returns. Raises ``StoreRolledBack``,
        ``Fenced``."""
        leadership, lake = self._leadership(), self.newest_in_lake()
        token, now = uuid4().hex, self._clock()

        def hand_out(connection: sa.Connection) -> tuple[int, Mapping[str, Timestamp]]:
            fence.check(connection, leadership)
            found = _current(connection)
            if not above:
                check(ConsensusMark(), lake, found)
            number = max(found.number, above) + 1
            _put(connection, ConsensusMark(number, token, found.in_lake))
            return number, written_times(connection)

        number, timelines = self._consensus.transact(hand_out)
        path = f"{number:012}-{token}.json"
        self._folder.make()
        with self._folder.open_to_write(path) as file:
            file.write(json.dumps({"at": now, "timelines": timelines}).encode())
        self._folder.sync([path])
        self._consensus.transact(lambda connection: _note(connection, number))
        self._folder.delete(info.path for info in self._folder.walk("") if info.path < f"{number:012}")
        self._marked_at = now


_ATTEMPTS = 10


def _current(connection: sa.Connection) -> ConsensusMark:
    row = connection.execute(sa.select(_marks)).one_or_none()
    return ConsensusMark(row.number, row.token, row.in_lake) if row else ConsensusMark()


def _put(connection: sa.Connection, mark: ConsensusMark) -> None:
    values = {"number": mark.number, "token": mark.token, "in_lake": mark.in_lake}
    if connection.execute(sa.update(_marks).values(values)).rowcount == 0:
        connection.execute(sa.insert(_marks).values(one=1, **values))


def _note(connection: sa.Connection, number: int) -> None:
    connection.execute(sa.update(_marks).where(_marks.c.in_lake < number).values(in_lake=number))

"""Changes of a table, however the server's blocks cut them, make of it what it was: by key, and by
whole rows."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from fixtures.pgoutput import UNCHANGED, Row, Value
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.relations import DIFF_COLUMN, INTEGER, TEXT, Column, RelationDesc, numeric
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import DELETED_COLUMN, OFFSET_COLUMN, ChangeCount
from reclock.connectors.postgres.changes import ChangeCollector
from reclock.connectors.postgres.lineages import BORN_COLUMN, UNSENT_COLUMN
from reclock.connectors.postgres.pgoutput import MessageBatch
from reclock.definitions.sources import PostgresConnector
from reclock.errors import OutputFailed
from reclock.quality.frames import staged_frame
from reclock.quality.slice import AuditSlice

COLUMNS = (Column("id", INTEGER), Column("small", INTEGER), Column("large", TEXT))
END = 1_000_000

Table = dict[int, tuple[int, str]]


def tuple_data(row: Row) -> bytes:
    return struct.pack(">H", len(row)) + b"".join(map(_value, row))


def _value(value: Value) -> bytes:
    if isinstance(value, str):
        return b"t" + struct.pack(">I", len(value.encode())) + value.encode()
    return b"n" if value is None else b"u"


def relation(identity: str, oids: tuple[int, ...] = (23, 23, 25)) -> bytes:
    names = ("id", "small", "large")[: len(oids)]
    columns = b"".join(
        bytes([identity == "f" or i == 0]) + name.encode() + b"\0" + struct.pack(">Ii", oid, -1)
        for i, (name, oid) in enumerate(zip(names, oids, strict=True))
    )
    return (
        b"R"
        + struct.pack(">I", 5)
        + b"public\0t\0"
        + identity.encode()
        + struct.pack(">H", len(oids))
        + columns
    )


def begin(lsn: int) -> bytes:
    return b"B" + struct.pack(">qqI", lsn, 0, 7)


@dataclass
class Server:
    """A table, and what its server tells of it, with whole rows or with keys."""

    identity: str
    table: Table
    log: list[bytes] = field(default_factory=list)

    def insert(self, id: int, small: int, large: str) -> None:
        if id not in self.table:
            self.table[id] = small, large
            self._tell(b"I", None, (str(id), str(small), large))

    def delete(self, id: int) -> None:
        if id in self.table:
            self._tell(b"D", self._old(id), None)
            del self.table[id]

    def update(self, id: int, to: int, small: int, large: str | None) -> None:
        if id in self.table and (to == id or to not in self.table):
            old = self._old(id) if self.identity == "f" or to != id else None
            self._tell(b"U", old, (str(to), str(small), UNCHANGED if large is None else large))
            _, was = self.table.pop(id)
            self.table[to] = small, was if large is None else large

    def truncate(self) -> None:
        self.table.clear()
        self.log.append(b"T" + struct.pack(">IbI", 1, 0, 5))

    def _old(self, id: int) -> Row:
        small, large = self.table[id]
        return (str(id), str(small), large) if self.identity == "f" else (str(id), None, None)

    def _tell(self, kind: bytes, old: Row | None, new: Row | None) -> None:
        mark = b"O" if self.identity == "f" else b"K"
        parts = [kind, struct.pack(">I", 5)]
        parts += [] if old is None else [mark, tuple_data(old)]
        parts += [] if new is None else [b"N", tuple_data(new)]
        self.log.append(b"".join(parts))


IDS, NUMBERS = st.integers(0, 5), st.integers(0, 9)
LARGE = st.one_of(st.none(), st.text("aö", max_size=3), st.text("b", min_size=300, max_size=301))
OPERATIONS = st.one_of(
    st.tuples(st.just("insert"), IDS, NUMBERS, LARGE.filter(lambda text: text is not None)),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("update"), IDS, IDS, NUMBERS, LARGE),
    st.tuples(st.just("truncate")),
)
STEPS = st.lists(
    st.lists(st.one_of(OPERATIONS, st.just(("begin",))), max_size=25), min_size=1, max_size=3
)


def outputs_of(
    reading: ChangeCollector, log: list[bytes], cuts: list[int], rows: int
) -> list[pa.Table | None]:
    """What is read of the messages, cut into blocks."""
    outputs: list[pa.Table | ChangeCount | OutputFailed | None] = []
    for lower, upper in zip([0, *cuts], [*cuts, len(log)], strict=True):
        if block := log[lower:upper]:
            reading.take(
                MessageBatch.of(
                    b"".join(block), b"".join(struct.pack(">i", len(message)) for message in block)
                )
            )
            outputs += [table for _, table in reading.ready(rows)]
    outputs += [table for _, table in reading.ready(1)]
    assert not any(isinstance(table, OutputFailed) for table in outputs)
    return [table for table in outputs if not isinstance(table, ChangeCount)]


def upserted(before: Table, read: list[pa.Table | None]) -> Table:
    """What the changes by key make of the output: its state, and the rows that came, met by the
    last of each lineage."""
    state, lineages = dict(before), {}
    for table in read:
        if table is None:
            state, lineages = {}, {}
        elif OFFSET_COLUMN not in table.column_names:
            for row in table.to_pylist():
                assert row["id"] not in state
                state[row["id"]] = row["small"], row["large"]
        else:
            for row in sorted(table.to_pylist(), key=lambda row: row[OFFSET_COLUMN]):
                lineages.setdefault((row["mz_was_0"], row[BORN_COLUMN]), []).append(row)
    met = {key: state.pop(key, None) for key, born in lineages if not born}
    for (key, born), rows in lineages.items():
        before_it = None if born else met[key]
        large = None if before_it is None else before_it[1]
        for row in rows:
            large = large if row[UNSENT_COLUMN] == ",2," else row["large"]
        if not rows[-1][DELETED_COLUMN]:
            assert large is not None
            assert rows[-1]["id"] not in state
            state[rows[-1]["id"]] = rows[-1]["small"], large
    return state


@given(STEPS, st.lists(st.integers(1, 40), max_size=3), st.sampled_from([1, 3, 1000]))
def test_changes_by_key_make_of_the_output_what_the_table_is(
    steps: list[list[tuple]], cuts: list[int], rows: int
) -> None:
    server, output = Server("d", {}), {}
    for operations in steps:
        server.log = [relation("d"), begin(10)]
        for name, *arguments in operations:
            if name == "begin":
                server.log.append(begin(20))
            else:
                getattr(server, name)(*arguments)
        reading = ChangeCollector({"public.t": RelationDesc(COLUMNS, key=("id",))}, 0, END)
        points = sorted({cut for cut in cuts if cut < len(server.log)})
        output = upserted(output, outputs_of(reading, server.log, points, rows))
        assert output == server.table


@given(STEPS, st.lists(st.integers(1, 40), max_size=3), st.sampled_from([1, 3, 1000]))
def test_changes_of_whole_rows_make_of_the_output_what_the_table_is(
    steps: list[list[tuple]], cuts: list[int], rows: int
) -> None:
    server = Server("f", {})
    output: Counter[tuple] = Counter()
    for operations in steps:
        server.log = [relation("f"), begin(10)]
        for name, *arguments in operations:
            if name != "begin":
                getattr(server, name)(*arguments)
        reading = ChangeCollector({"public.t": RelationDesc(COLUMNS)}, 0, END)
        for table in outputs_of(
            reading, server.log, sorted({cut for cut in cuts if cut < len(server.log)}), rows
        ):
            if table is None:
                output.clear()
            else:
                for row in table.to_pylist():
                    output[row["id"], row["small"], row["large"]] += row[DIFF_COLUMN]
        assert +output == Counter((id, *row) for id, row in server.table.items())
        assert all(count >= 0 for count in output.values())


@pytest.mark.parametrize("cuts", [[], [1], [2], [5], [2, 3, 4, 5, 6, 7]])
def test_only_transactions_within_the_range_are_told(cuts: list[int]) -> None:
    server = Server("d", {})
    server.log.append(relation("d"))
    for lsn in (5, 10, 19, 20, 30, 40, 50):
        server.log.append(begin(lsn))
        server.insert(lsn, 0, "x")
    reading = ChangeCollector({"public.t": RelationDesc(COLUMNS, key=("id",))}, 10, 45)
    tables = [
        row["id"]
        for table in outputs_of(reading, server.log, cuts, 1)
        if table is not None
        for row in table.to_pylist()
    ]
    assert tables == [10, 19, 20, 30, 40]
    assert reading.is_over


@pytest.mark.parametrize("identity", ["d", "f"])
def test_a_value_that_does_not_fit_fails_its_table_naming_it(identity: str) -> None:
    """And no other table: what came before of it is given up, and nothing that follows is told."""
    server = Server(identity, {})
    server.log.append(relation(identity, (23, 1700)))
    server.log.append(
        relation("f").replace(
            struct.pack(">I", 5) + b"public\0t", struct.pack(">I", 6) + b"public\0other"
        )
    )
    for lsn in range(10, 60, 10):
        server.log.append(begin(lsn))
        server.log.append(
            b"I"
            + struct.pack(">I", 5)
            + b"N"
            + tuple_data((str(lsn), "NaN" if lsn in (30, 50) else "1"))
        )
        server.log.append(b"I" + struct.pack(">I", 6) + b"N" + tuple_data((str(lsn), "0", "x")))
    key = ("id",) if identity == "d" else None
    tables = {
        "public.t": RelationDesc((COLUMNS[0], Column("small", numeric())), key=key),
        "public.other": RelationDesc(COLUMNS),
    }
    reading = ChangeCollector(tables, 0, END)
    reading.take(
        MessageBatch.of(
            b"".join(server.log),
            b"".join(struct.pack(">i", len(message)) for message in server.log),
        )
    )
    outputs = list(reading.ready(1))
    [failure] = [
        error for table, error in outputs if isinstance(error, OutputFailed) and table == "public.t"
    ]
    assert str(failure) == f'table "public.t", column "small": {numeric()} cannot hold NaN'
    row = "id = 30" if key else "id = 30, small = NaN"
    assert str(failure.detail).startswith(f"in the row with {row}, committed at LSN 0/1E")
    assert not any(isinstance(rows, pa.Table) for table, rows in outputs if table == "public.t")
    [others] = [
        rows for table, rows in outputs if isinstance(rows, pa.Table) and table == "public.other"
    ]
    assert others["id"].to_pylist() == [10, 20, 30, 40, 50]


TRANSACTIONS = st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=5)


@given(TRANSACTIONS, st.data())
def test_interleaved_transactions_pass_the_audit_wherever_the_log_is_bound(
    changes: list[list[int]], data: st.DataObject
) -> None:
    """Each transaction writes some changes into the log, beside the others, and its commit record
    at the end of them. Whatever LSNs are bound, step by step, each row is staged once, and no step
    stages more rows than it may."""
    slots = [i for i, transaction in enumerate(changes) for _ in range(len(transaction) + 1)]
    order = data.draw(st.permutations(slots))
    position, commits = 0, {}
    for i in order:  # the last of a transaction's places is its commit record
        position += 1 + data.draw(st.integers(0, 2))
        commits[i] = position
    whole = sorted(commits, key=lambda i: commits[i])
    log = [relation("f")]
    for i in whole:
        log.append(begin(commits[i]))
        texts = ((str(i), str(n), "x") for n in changes[i])
        log += [b"I" + struct.pack(">I", 5) + b"N" + tuple_data(row) for row in texts]
    cuts = sorted({*data.draw(st.lists(st.integers(1, position), max_size=4)), position + 1})
    staged: Counter[tuple[int, int]] = Counter()
    for lower, upper in zip([0, *cuts], cuts, strict=False):
        reading = ChangeCollector({"public.t": RelationDesc(COLUMNS)}, lower, upper)
        reading.take(
            MessageBatch.of(
                b"".join(log), b"".join(struct.pack(">i", len(message)) for message in log)
            )
        )
        found = [message for _, message in reading.ready(1)]
        rows = [row for table in found if isinstance(table, pa.Table) for row in table.to_pylist()]
        counts = [message.changes for message in found if isinstance(message, ChangeCount)]
        slice_ = AuditSlice(
            "s", Timestamp(1), Timestamp(1), {"": lower}, [("", upper - lower)], len(rows), None, None, 0, {"": upper - lower}, [],
            updates_per_offset=PostgresConnector.updates_per_offset, changes=sum(counts) if counts else None,
        )  # fmt: skip
        [frame] = staged_frame(slice_).to_dict("records")
        assert frame["rows"] <= frame["rows_limit"]
        assert len(rows) == sum(len(changes[i]) for i in whole if lower <= commits[i] < upper)
        staged.update((row["id"], row["small"]) for row in rows)
    assert staged == Counter((i, n) for i, transaction in enumerate(changes) for n in transaction)

"""The messages of a subscription: columns and order. Equal updates always give equal messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from reclock.algebra.relations import BIGINT, DIFF_COLUMN, TIME_COLUMN
from reclock.collections.consolidate import stream_query
from reclock.compute.engines.engine import cast_to, result_schema
from reclock.compute.operators.topk import order_by
from reclock.definitions.sinks import Envelope
from reclock.sql.statements.subscribe.plan import SubscribeQuery


def messages(
    statement: SubscribeQuery, updates: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows to send, in order of time, and of one time in the statement's order. ``updates``
    have the columns of ``updates_schema``.

    They are sorted outside of Python's memory, and streamed. An error of ``updates`` is raised
    unchanged.
    """
    failures: list[Exception] = []

    def read() -> Iterator[pa.RecordBatch]:
        try:
            for batch in updates:
                yield cast_to(batch, plain)
        except Exception as failure:  # the engine that reads them would raise an error of its own
            failures.append(failure)
            raise

    schema = updates_schema(statement)
    plain = pa.schema([pa.field(field.name, field.type) for field in schema])
    reader = pa.RecordBatchReader.from_batches(plain, read())
    fields = result_schema(statement.desc.columns)
    names = _numbered(len(fields))
    sql_schema = pa.schema(
        [pa.field(name, field.type) for name, field in zip(names, fields, strict=True)]
    )
    try:
        for batch in stream_query(reader, _sql(statement), sql_schema):
            columns = [
                column.cast(field.type) for column, field in zip(batch.columns, fields, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=names)
    except Exception:
        if failures:
            raise failures[0] from None
        raise


def updates_schema(statement: SubscribeQuery) -> pa.Schema:
    """The query's columns by number, since a query may use a name twice; then time and diff."""
    columns = result_schema(statement.select.desc.columns)
    numbered = [pa.field(f"c{number}", field.type) for number, field in enumerate(columns)]
    return pa.schema(
        [*numbered, pa.field(TIME_COLUMN, pa.int64()), pa.field(DIFF_COLUMN, pa.int64())]
    )


def progress(statement: SubscribeQuery, upper: int) -> pa.RecordBatch:
    """The progress message: everything below ``upper`` was sent."""
    fields = result_schema(statement.desc.columns)
    values = [
        pa.array([upper], pa.int64()),
        pa.array([True]),
        *(pa.nulls(1, field.type) for field in list(fields)[2:]),
    ]
    return pa.record_batch(values, names=_numbered(len(values)))


def nothing(statement: SubscribeQuery) -> pa.RecordBatch:
    """An empty batch of messages."""
    fields = result_schema(statement.desc.columns)
    return pa.record_batch(
        [pa.array([], field.type) for field in fields], names=_numbered(len(fields))
    )


def _numbered(count: int) -> list[str]:
    return [f"s{number}" for number in range(count)]


def _sql(statement: SubscribeQuery) -> str:
    progressed = ["false"] if statement.has_progress else []
    width = len(statement.select.desc)
    if statement.envelope is None:
        expressions = [DIFF_COLUMN, *(f"c{index}" for index in range(width))]
        source = f"(SELECT *, {DIFF_COLUMN} AS c{width} FROM updates)"
        order = order_by(statement.order, (*statement.select.desc.types, BIGINT), "duckdb")
    else:
        expressions, source = _of_keys(statement, statement.envelope is Envelope.UPSERT)
        order = ", ".join(f"c{index} NULLS LAST" for index in statement.key)
    expressions = [TIME_COLUMN, *progressed, *expressions]
    select_list = ", ".join(
        f"{expression} AS {name}"
        for expression, name in zip(expressions, _numbered(len(expressions)), strict=True)
    )
    return f"SELECT {select_list} FROM {source} ORDER BY {TIME_COLUMN}, {order}"


def _of_keys(statement: SubscribeQuery, is_upsert: bool) -> tuple[list[str], str]:
    """The columns for each key that changes at a time, and the relation they are of. Two rows with
    one key are a violation."""
    keys = [f"c{index}" for index in statement.key]
    values = [
        f"c{index}" for index in range(len(statement.select.desc)) if index not in statement.key
    ]
    states = ["WHEN went > 1 OR came > 1 THEN 'key_violation'", "WHEN came = 0 THEN 'delete'"]
    states += [] if is_upsert else ["WHEN went = 0 THEN 'insert'"]
    counts = [
        f"coalesce(sum(abs({DIFF_COLUMN})) FILTER (WHERE {DIFF_COLUMN} {sign} 0), 0)"
        for sign in "<>"
    ]
    sides = [
        f"first({value}) FILTER (WHERE {DIFF_COLUMN} {sign} 0) AS {value}_{side}"
        for value in values
        for sign, side in _SIDES
    ]
    grouped = ", ".join([TIME_COLUMN, *keys])
    source = (
        f"(SELECT {', '.join([grouped, f'{counts[0]} AS went', f'{counts[1]} AS came', *sides])} "
        f"FROM updates GROUP BY {grouped})"
    )
    expressions = [f"CASE {' '.join(states)} ELSE 'upsert' END", *keys]
    for _, side in _SIDES[1:] if is_upsert else _SIDES:
        expressions += [
            f"CASE WHEN went <= 1 AND came <= 1 THEN {value}_{side} END" for value in values
        ]
    return expressions, source


_SIDES = (("<", "before"), (">", "after"))

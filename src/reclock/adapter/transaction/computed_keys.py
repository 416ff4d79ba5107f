"""The keys of unique indexes over expressions, or of some rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, DIFF_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM
from reclock.collections.key_hashes import KeyColumns
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.engine import Engine, TableInput
from reclock.plan.build import compute
from reclock.plan.relational import Filter, Finishing, Get, Plan
from reclock.plan.rules import optimize
from reclock.plan.scalars import ColumnRef
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.queries.index_keys import indexed_values
from reclock.sql.syntax.dialect import to_sql

_ROWS = StorageCollectionId(GlobalId("t0"))
_CHANGE = "mz_change"
"""The diff of a row: to the engine, it is a value."""


@dataclass(frozen=True, slots=True)
class IndexedKeys:
    """Computes the keys on an engine. ``definition`` says which they are."""

    definition: str
    inputs: tuple[str, ...]
    plan: Plan = field(compare=False)
    engine: Engine = field(compare=False)

    def of(self, changes: pa.Table) -> pa.Table:
        rows = changes.select([*self.inputs, DIFF_COLUMN]).rename_columns([*self.inputs, _CHANGE])
        answer = self.engine.run(self.plan, Finishing(), {_ROWS: TableInput(rows)}, MAXIMUM)
        schema = arrow_schema(self.plan.desc, with_updates=False)
        keys = pa.Table.from_batches([batch.cast(schema) for batch in answer.batches], schema)
        return keys.rename_columns([*keys.column_names[:-1], DIFF_COLUMN])


def indexed_key(constraint: Constraint, desc: RelationDesc, engine: Engine) -> KeyColumns:
    """The key of a unique index of a table with these columns."""
    inputs = tuple(name for name in desc.names if name in constraint.columns)
    columns = [desc.columns[desc.names.index(name)] for name in inputs]
    rows = RelationDesc((*columns, Column(_CHANGE, BIGINT, is_nullable=False)))
    values, predicate = indexed_values(constraint, RelationDesc(tuple(columns)))
    names = [to_sql(key) for key in constraint.keys]
    source: Plan = Get(_ROWS, "rows", rows)
    if predicate is not None:
        source = Filter(source, (predicate,))
    change = ColumnRef(len(columns), BIGINT)
    plan = optimize(compute(source, [*values, change], [*names, _CHANGE]))
    where = to_sql(constraint.predicate) if constraint.predicate is not None else ""
    computed = IndexedKeys(f"{names} {where}", inputs, plan, engine)
    return KeyColumns(tuple(names), constraint.are_nulls_equal, computed)

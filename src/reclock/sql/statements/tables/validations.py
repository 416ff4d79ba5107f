"""VALIDATE CONSTRAINT: the query for rows of a table that break a constraint."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, quote
from reclock.sql.statements.query.plan import plan_query_statement
from reclock.sql.statements.query.values import Select
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.nodes import QueryStatement
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows of ``violations`` break the constraint; for a key, they are the keys that come
    twice."""

    constraint: Constraint
    violations: Select


def plan_validation(
    table: QualifiedName, constraint: Constraint, catalog: PlannerCatalog, session: SessionNames
) -> Validation:
    query = parse_one(_violations(table, constraint))
    assert isinstance(query, QueryStatement)
    return Validation(constraint, plan_query_statement(query, catalog, session))


def _violations(table: QualifiedName, constraint: Constraint) -> str:
    """A query for a row that breaks the CHECK, for a key that several rows have, or for one that no
    row of the foreign key's target has."""
    if constraint.condition is not None:
        return f"SELECT * FROM {table} WHERE NOT ({to_sql(constraint.condition)}) LIMIT 1"
    columns = [quote(column) for column in constraint.columns]
    if constraint.kind is ConstraintKind.UNIQUE_INDEX:
        columns = [to_sql(key) for key in constraint.keys]
    present = " AND ".join(f"({column}) IS NOT NULL" for column in columns)
    if constraint.kind is ConstraintKind.FOREIGN_KEY:
        return _unreferenced(table, constraint, columns, present)
    conditions = [] if constraint.are_nulls_equal else [present]
    if constraint.predicate is not None:
        conditions.append(f"({to_sql(constraint.predicate)})")
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    if constraint.kind is ConstraintKind.UNIQUE_INDEX:
        computed = ", ".join(f"({column}) AS mz_key_{i}" for i, column in enumerate(columns))
        key = ", ".join(f"mz_key_{i}" for i in range(len(columns)))
        rows = f"(SELECT {computed} FROM {table} {where}) AS mz_keys"
        return f"SELECT {key} FROM {rows} GROUP BY {key} HAVING count(*) > 1 LIMIT 1"
    key = ", ".join(columns)
    return f"SELECT {key} FROM {table} {where} GROUP BY {key} HAVING count(*) > 1 LIMIT 1"


def _unreferenced(
    table: QualifiedName, constraint: Constraint, columns: list[str], present: str
) -> str:
    target = ".".join(map(quote, constraint.target))
    pairs = zip(constraint.target_columns, columns, strict=True)
    same = " AND ".join(f"mz_target.{quote(other)} = mz_row.{column}" for other, column in pairs)
    is_missing = f"NOT EXISTS (SELECT 1 FROM {target} AS mz_target WHERE {same})"
    condition = f"({present} AND {is_missing})"
    if constraint.match == "FULL":
        some = " OR ".join(f"{column} IS NOT NULL" for column in columns)
        condition += f" OR (({some}) AND NOT ({present}))"
    return f"SELECT {', '.join(columns)} FROM {table} AS mz_row WHERE {condition} LIMIT 1"

"""WITH RECURSIVE: the order in which its queries are planned, and PostgreSQL's rules on where a
query may read itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import (
    MAX_PRECISION,
    Column,
    RelationDesc,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.errors import (
    InvalidColumnReference,
    InvalidRecursion,
    SqlSyntaxError,
    TypeMismatch,
    UnsupportedSql,
)
from reclock.plan.build import compute
from reclock.plan.functions.arithmetic import QUOTIENT_SCALE
from reclock.plan.functions.typing import least_digits
from reclock.plan.relational import RecursiveUnion, WorkTable, work_tables
from reclock.plan.scalars import ColumnRef
from reclock.sql.names import fold, parts
from reclock.sql.queries.coercion import coerce, common_type
from reclock.sql.queries.context import Context
from reclock.sql.queries.subquery_syntax import unwrapped
from reclock.sql.queries.tables import is_comma
from reclock.sql.syntax.nodes import MutuallyRecursive

_RELATIONS = {
    exp.Select: ("from_", "joins", "laterals", "with_"),
    exp.SetOperation: ("this", "expression", "with_"),
    exp.Subquery: ("this", "joins", "with_"),
    exp.From: ("this",),
    exp.Join: ("this",),
    exp.Lateral: ("this",),
    exp.Table: ("this", "joins"),
    exp.CTE: ("this",),
    exp.With: ("expressions",),
}
"""The arguments in which a query has its relations; in all others it has expressions."""


def in_planning_order(ctes: Sequence[exp.CTE]) -> list[exp.CTE]:
    """The queries of WITH RECURSIVE, which may be written in any order, each after those that it
    reads."""
    names = {_name(cte): cte for cte in ctes}
    reads = {
        name: [other for other in names if other != name and references(cte.this, other)]
        for name, cte in names.items()
    }
    ordered: list[str] = []
    while len(ordered) < len(names):
        ready = [name for name in names if name not in ordered and set(reads[name]) <= set(ordered)]
        if not ready:
            raise UnsupportedSql("mutual recursion between WITH items is not implemented")
        ordered += ready
    return [names[name] for name in ordered]


def is_recursive(cte: exp.CTE) -> bool:
    return bool(references(cte.this, _name(cte)))


def references(query: exp.Expr, name: str) -> list[exp.Table]:
    """Where ``query`` reads the WITH query ``name`` defined around it."""
    return [
        table
        for table in query.find_all(exp.Table, bfs=False)
        if isinstance(table.this, exp.Identifier)
        and parts(table) == (name,)
        and not _is_redefined(name, table, query)
    ]


def reads_work_table(node: exp.Select, context: Context) -> bool:
    """Whether FROM itself, not a subquery in it, names a query that is recursive around
    ``node``."""
    recursive = {
        name
        for name, plan in context.ctes.items()
        if isinstance(plan, WorkTable) and not plan.is_binding
    }
    clauses = [node.args.get("from_"), *(node.args.get("joins") or [])] if recursive else []
    tables = [
        table for clause in clauses if clause is not None for table in clause.find_all(exp.Table)
    ]
    return any(
        parts(table)[-1:] == (name,)
        and table.find_ancestor(exp.Select) is node
        and references(table, name)
        for table in tables
        for name in recursive
    )


def recursive_union(cte: exp.CTE) -> exp.Union:
    """The union of a query that reads itself. Raises ``InvalidRecursion`` if it has another form,
    or reads itself elsewhere."""
    name, node = _name(cte), unwrapped(cte.this)
    _check_form(name, node)
    assert isinstance(node, exp.Union)
    return node


def plan_recursive(
    cte: exp.CTE, node: exp.Union, context: Context, outer_width: int = 0
) -> RecursiveUnion:
    """The rows of the WITH query ``cte``, whose union is ``node``. ``context`` is that of the
    union, with its own WITH.

    ``outer_width`` columns, after those of the query, say which row around each row is for. Raises
    ``TypeMismatch``, ``UnsupportedSql``.
    """
    name, id = _name(cte), unused_id(context)
    base_query = context.queries.plan(node.this, context)
    base = base_query.embedded
    if not base.desc.types:
        raise UnsupportedSql(f'recursive query "{name}" without columns is not supported')
    width = len(base.desc) - outer_width
    names = [*column_names(cte, base.desc.names[:width]), *base.desc.names[width:]]
    columns = zip(names, base.desc.columns, strict=True)
    desc = RelationDesc(tuple(Column(n, column.type, limit=column.limit) for n, column in columns))
    while True:
        inner = context.with_cte(name, WorkTable(id, name, desc), outer_width)
        step = context.queries.plan(node.expression, inner, desc.types[:width]).embedded
        if len(step.desc) != len(desc):
            raise SqlSyntaxError("each UNION query must have the same number of columns")
        wide = _wide_enough(desc, step.desc)
        if wide == desc:
            break
        refs = [ColumnRef(i, type) for i, type in enumerate(desc.types)]
        base = compute(base, list(map(coerce, refs, wide.types)), names)
        desc = wide
    _check_types(name, list(zip(desc.types, step.desc.types, strict=True)), base_query.untyped)
    is_distinct = bool(node.args.get("distinct"))
    if is_distinct and any(type.has_intervals for type in desc.types):
        raise UnsupportedSql(
            "UNION of intervals in a recursive query is not supported", hint="use UNION ALL"
        )
    refs = [ColumnRef(i, type) for i, type in enumerate(step.desc.types)]
    step = compute(step, list(map(coerce, refs, desc.types)), names)
    most = context.session.max_recursion_iterations
    union = RecursiveUnion(base, step, id, name, is_distinct, most, desc)
    if work_tables(union):
        raise UnsupportedSql(
            f'recursive query "{name}" within another recursive query must not read that one',
            hint="let it read other relations, and join them to the query around it",
        )
    return union


def _wide_enough(desc: RelationDesc, step: RelationDesc) -> RelationDesc:
    """``desc``, of the rows so far, with the digits of the numerics of ``step`` too, and with the
    limits that both have."""
    return RelationDesc(
        tuple(
            Column(
                column.name,
                _with_digits_of(column.type, other.type),
                limit=column.limit if column.limit == other.limit else None,
            )
            for column, other in zip(desc.columns, step.columns, strict=True)
        )
    )


def _check_types(
    name: str, pairs: Sequence[tuple[ScalarType, ScalarType]], untyped: frozenset[int]
) -> None:
    """Raise ``TypeMismatch`` for a column of whose types, of the base and of the step, the common
    one is not the base's. Columns ``untyped`` of the base have no type of their own."""
    for position, (base_type, step_type) in enumerate(pairs):
        if base_type.name is step_type.name is TypeName.NUMERIC:
            continue
        overall = common_type([None if position in untyped else base_type, step_type], "UNION")
        if overall != base_type:
            raise TypeMismatch(
                (
                    f'recursive query "{name}" column {position + 1} has type {base_type} in '
                    f"non-recursive term but type {overall} overall"
                ),
                hint="Cast the output of the non-recursive term to the correct type.",
            )


def _with_digits_of(base: ScalarType, step: ScalarType) -> ScalarType:
    """A numeric that has the digits of both terms of a recursion, or, where the step adds more each
    time, those that a product has at most. Any other type stays as it is."""
    if not (base.name is step.name is TypeName.NUMERIC):
        return base
    base = replace(base, integral_digits=None)  # each step may add some
    scale, digits = base.scale or 0, step.scale or 0
    if digits <= scale and (base.precision or 0) >= (step.precision or 0):
        return base
    if base.precision == MAX_PRECISION and digits > scale:
        digits = max(digits, QUOTIENT_SCALE)
    wide = numeric(MAX_PRECISION, max(scale, digits))
    return replace(wide, least_digits=min(least_digits(base), least_digits(step)))


def unused_id(context: Context) -> int:
    """An id that no work table in scope has. All greater ones are unused too."""
    return max((id for plan in context.ctes.values() for id in work_tables(plan)), default=-1) + 1


def column_names(cte: exp.CTE, names: Sequence[str]) -> list[str]:
    """The names of the query's columns, some of them given by WITH."""
    renamed = [fold(column) for column in cte.args["alias"].columns]
    if len(renamed) > len(names):
        raise InvalidColumnReference(
            f'WITH query "{_name(cte)}" has {len(names)} columns available but '
            f"{len(renamed)} columns specified"
        )
    return [*renamed, *names[len(renamed) :]]


def _check_form(name: str, node: exp.Expr) -> None:
    if not isinstance(node, exp.Union):
        form = (
            f'recursive query "{name}" does not have the form non-recursive-term UNION [ALL] '
            "recursive-term"
        )
        raise InvalidRecursion(form)
    for clause, word in (("order", "ORDER BY"), ("offset", "OFFSET"), ("limit", "LIMIT")):
        if node.args.get(clause):
            raise UnsupportedSql(f"{word} in a recursive query is not implemented")
    misplaced = [(table, _where(table, node)) for table in references(node, name)]
    for _, where in sorted(misplaced, key=lambda place: place[1] != _BASE):
        if where is not None:
            raise InvalidRecursion(
                f'recursive reference to query "{name}" must not appear within {where}'
            )
    if len(misplaced) > 1:
        raise InvalidRecursion(
            f'recursive reference to query "{name}" must not appear more than once'
        )


_BASE = "its non-recursive term"


def _where(table: exp.Expr, union: exp.Union) -> str | None:
    """The forbidden place of the reference, in the words of PostgreSQL's error, or None."""
    below, place = table, None
    if _is_right_or_full(table.args.get("joins") or []):
        place = "an outer join"
    while below is not union:
        above = below.parent
        assert above is not None
        if not any(
            isinstance(above, kind) and below.arg_key in names for kind, names in _RELATIONS.items()
        ):
            place = "a subquery"
        elif above is union:
            if below is union.this:
                return _BASE
            if below is not union.expression:
                place = "a subquery"  # of the query's own WITH
        elif place is None:
            place = _where_within(above, below)
        below = above
    return place


def _where_within(above: exp.Expr, below: exp.Expr) -> str | None:
    if isinstance(above, exp.Join) and above.side in ("LEFT", "FULL"):
        return "an outer join"
    if isinstance(above, exp.Intersect) and not above.args.get("distinct"):
        return "INTERSECT"
    if isinstance(above, exp.Except) and (
        below is above.expression or not above.args.get("distinct")
    ):
        return "EXCEPT"
    joins = above.args.get("joins") or []
    if isinstance(below, exp.Join) and below in joins:
        following = joins[[join is below for join in joins].index(True) + 1 :]
        return "an outer join" if _is_right_or_full(following) else None
    return "an outer join" if isinstance(below, exp.From) and _is_right_or_full(joins) else None


def _is_right_or_full(joins: Iterable[exp.Join]) -> bool:
    """Whether a join among ``joins``, up to the next comma, fills what precedes it with NULLs."""
    for join in joins:
        if is_comma(join):
            return False
        if join.side in ("RIGHT", "FULL"):
            return True
    return False


def _is_redefined(name: str, table: exp.Expr, query: exp.Expr) -> bool:
    """Whether a WITH within ``query`` redefines ``name`` at ``table``."""
    below = table
    while below is not query:
        above = below.parent
        assert above is not None
        if isinstance(above, exp.With):
            ctes = above.expressions
            if not (isinstance(above, MutuallyRecursive) or above.args.get("recursive")):
                ctes = ctes[: [cte is below for cte in ctes].index(True)]
        else:
            clause = above.args.get("with_")
            ctes = clause.expressions if clause is not None and clause is not below else []
        if any(_name(cte) == name for cte in ctes):
            return True
        below = above
    return False


def _name(cte: exp.CTE) -> str:
    return fold(cte.args["alias"].this)

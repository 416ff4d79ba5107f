"""The conditions of CHECK constraints, of tables and of domains."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.relations import BOOLEAN
from reclock.errors import AggregateNotAllowed, InvalidWindow
from reclock.plan.scalars import Scalar
from reclock.sql.queries.coercion import expect
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.planned import scalar_of
from reclock.sql.queries.scope import Scope


def planned_condition(condition: exp.Expr, scope: Scope, subqueries: NoSubqueries) -> Scalar:
    """The condition over the columns of ``scope``. Raises ``AggregateNotAllowed``,
    ``InvalidWindow``, ``TypeMismatch``."""
    try:
        value = scalar(condition, ExprContext(scope, subqueries, "CHECK"))
    except AggregateNotAllowed as error:
        raise AggregateNotAllowed(
            "aggregate functions are not allowed in check constraints"
        ) from error
    except InvalidWindow as error:
        raise InvalidWindow("window functions are not allowed in check constraints") from error
    return scalar_of(expect(value, BOOLEAN, "argument of CHECK"))

"""From syntax to typed relational plans."""

from reclock.sql.queries import (  # noqa: F401  (they register expressions)
    aggregate_clauses,
    calls,
    casts,
    json_constructors,
    operators,
    pattern_expressions,
    predicates,
    subscripts,
    windows,
)

"""From syntax to typed relational plans."""

from reclock.sql.queries import calls, operators, pattern_expressions, windows  # noqa: F401  (they register expressions)

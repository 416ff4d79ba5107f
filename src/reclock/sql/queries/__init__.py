"""From syntax to typed relational plans."""

from reclock.sql.queries import calls, pattern_expressions, windows  # noqa: F401  (they register expressions)

"""From syntax to typed relational plans."""

from reclock.sql.queries import calls, windows  # noqa: F401  (they register expressions)

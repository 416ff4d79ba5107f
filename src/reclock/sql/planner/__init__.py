"""From syntax to typed relational plans."""

from reclock.sql.planner import calls  # noqa: F401  (it registers expressions)

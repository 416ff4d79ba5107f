"""The names of built-in functions."""

from __future__ import annotations

from reclock.plan.functions import AGGREGATES, SCALARS
from reclock.sql.queries.aggregate_calls import COLLECTING_AGGREGATES
from reclock.sql.queries.call_forms import SAME_FUNCTIONS
from reclock.sql.queries.catalog_functions import CATALOG_FUNCTIONS
from reclock.sql.queries.enum_functions import ENUM_FUNCTIONS
from reclock.sql.queries.list_calls import LIST_FUNCTIONS
from reclock.sql.queries.ordered_sets import ORDERED_SETS
from reclock.sql.queries.records import RECORD_FUNCTIONS
from reclock.sql.queries.row_functions import ROW_FUNCTIONS
from reclock.sql.queries.session_functions import SEQUENCE_FUNCTIONS, is_about_session
from reclock.sql.queries.sql_functions import SQL_FUNCTIONS
from reclock.sql.queries.windows import WINDOW_FUNCTIONS
from reclock.sql.syntax.expressions import CALLED_TYPES

_TABLES = (
    *(AGGREGATES, SCALARS, COLLECTING_AGGREGATES, ORDERED_SETS, SAME_FUNCTIONS, CATALOG_FUNCTIONS),
    *(RECORD_FUNCTIONS, ROW_FUNCTIONS, SEQUENCE_FUNCTIONS, SQL_FUNCTIONS, WINDOW_FUNCTIONS),
    *(ENUM_FUNCTIONS, LIST_FUNCTIONS),
    *(CALLED_TYPES, {"format", "grouping", "parse_ident", "pg_typeof", "concat_ws"}),
)


def is_built_in(name: str) -> bool:
    """Whether a built-in function has the name, so that a call could mean either."""
    return is_about_session(name) or any(name in table for table in _TABLES)

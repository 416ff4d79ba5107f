"""What PostgreSQL's dumps say about the storage of tables and indexes: read, and without effect."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import InvalidOption, UnsupportedSql
from reclock.sql.syntax.parser import StatementParser

_PARAMETERS = frozenset(
    {
        "buffering",
        "deduplicate_items",
        "fastupdate",
        "fillfactor",
        "gin_pending_list_limit",
        "log_autovacuum_min_duration",
        "pages_per_range",
        "parallel_workers",
        "toast_tuple_target",
        "user_catalog_table",
        "vacuum_index_cleanup",
        "vacuum_max_eager_freeze_failure_rate",
        "vacuum_truncate",
    }
)


def skip_storage_parameters(parser: StatementParser) -> None:
    """Read ``WITH (…)`` and ``WITHOUT OIDS``, if they are next. Raises ``InvalidOption`` for a
    parameter that PostgreSQL does not know, ``UnsupportedSql`` for OIDs."""
    if parser.accept("WITHOUT", "OIDS"):
        return
    if parser.sees_token(TokenType.WITH) and parser.next_token.token_type is TokenType.L_PAREN:
        parser.accept_token(TokenType.WITH)
        storage_parameters(parser)


def storage_parameters(parser: StatementParser) -> None:
    """Read the parameters, in parentheses. Raises as ``skip_storage_parameters``."""
    parser.wrapped_list(_skip_parameter)


def _skip_parameter(parser: StatementParser) -> exp.Identifier:
    name = parser.name()
    if name.name.lower() == "toast" and parser.accept_token(TokenType.DOT):
        name = parser.name()
    parameter = name.name.lower()
    value = str(parser.value().this).lower() if parser.accept_token(TokenType.EQ) else "true"
    if parameter == "oids" and value not in ("false", "off", "0"):
        raise UnsupportedSql("tables declared WITH OIDS are not supported")
    is_known = parameter in _PARAMETERS or parameter.startswith("autovacuum_")
    if not is_known and parameter != "oids":
        raise InvalidOption(f'unrecognized parameter "{parameter}"')
    return name

"""PostgreSQL's functions about its catalog, each an expression over ``argument1``, ``argument2``, …
and system relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from sqlglot import exp

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    OID,
    REGCLASS,
    REGNAMESPACE,
    REGPROC,
    REGROLE,
    REGTYPE,
    TEXT,
    ScalarType,
)
from reclock.errors import UnknownFunction
from reclock.plan.scalars import ColumnRef
from reclock.sql.queries.attach import to_outer
from reclock.sql.queries.planned import OuterRef, Planned, SubqueryValue, TypedExpr, rewrite
from reclock.sql.syntax.nodes import QueryStatement
from reclock.sql.syntax.parse import parse_one
from reclock.sql.syntax.reserved_words import RESERVED_WORD


def _in_unit(exponent: int, unit: str) -> str:
    """A size in units of ``1024 ** exponent`` bytes, rounded away from zero."""
    factor = 1024**exponent
    rounded = f"(argument1 / {factor} + argument1 % {factor} * 2 / {factor})"
    return f"{rounded}::bigint::text || ' {unit}'"


def _size() -> str:
    """A size in the smallest unit in which it is less than 10239.5."""
    units = ("kB", "MB", "GB", "TB", "PB")
    branches = [
        f"WHEN abs(argument1::numeric) < {20479 * 1024**exponent // 2} THEN {_in_unit(exponent, unit)}"
        for exponent, unit in enumerate(units[:-1], 1)
    ]
    small = "CASE WHEN abs(argument1::numeric) < 10240 THEN argument1::text || ' bytes'"
    return " ".join([small, *branches, "ELSE", _in_unit(len(units), units[-1]), "END"])


_BYTES = "coalesce((SELECT size_bytes FROM mz_internal.mz_relation_sizes WHERE oid = argument1), 0)"


def _named(relation: str, column: str, prefix: str = "") -> str:
    """The text of an object id: the name of the object if it exists, else the number; a hyphen if
    it is 0, which is no object."""
    return (
        "CASE WHEN argument1::oid = 0 THEN '-' ELSE "
        f"coalesce((SELECT {prefix}{column} FROM {relation} WHERE oid = argument1::oid), "
        "argument1::oid::text) END"
    )


def _number(relation: str, which: str) -> str:
    """The number of the only object that the name can mean."""
    return f"(SELECT max(oid::bigint)::oid FROM {relation} WHERE {which})"


_TYPE_NAME = """CASE WHEN argument1 = 0 THEN '-' WHEN argument1 IS NOT NULL THEN coalesce((
    SELECT CASE
        WHEN argument2 IS NULL THEN name
        WHEN argument2 < 0 THEN CASE WHEN of_oid = 1042 THEN 'bpchar' ELSE name END
        WHEN of_oid = 1700 THEN name || CASE WHEN argument2 < 4 THEN '' ELSE
            '(' || ((argument2 - 4) >> 16 & 65535)::text || ','
            || (((argument2 - 4 & 2047) # 1024) - 1024)::text || ')' END
        WHEN of_oid IN (1042, 1043) THEN name || CASE WHEN argument2 <= 4 THEN '' ELSE
            '(' || (argument2 - 4)::text || ')' END
        WHEN of_oid IN (1083, 1114, 1184) THEN
            split_part(name, ' ', 1) || '(' || argument2::text || ')' || substr(name, strpos(name, ' '))
        WHEN of_oid IN (16, 20, 21, 23, 700, 701, 1186) THEN name
        ELSE name || '(' || argument2::text || ')'
    END || brackets
    FROM (SELECT oid, base_oid AS of_oid, rtrim(shown_name, '[]') AS name,
        CASE WHEN shown_name LIKE '%[]' THEN '[]' ELSE '' END AS brackets
        FROM mz_internal.mz_type_names) AS types
    WHERE oid = argument1), '???') END"""
"""The name of a type with the modifier that ``pg_attribute`` has of a column; of a type of arrays
with that of its elements."""


def _is_searched(relation: str, schema: str) -> str:
    """Whether the search path has the schema of an object; NULL without the object."""
    return (
        "(SELECT n.nspname = ANY (current_schemas(TRUE)) "
        f"FROM pg_catalog.{relation} AS o JOIN pg_catalog.pg_namespace AS n ON n.oid = o.{schema} "
        "WHERE o.oid = argument1)"
    )


def _of_function(column: str) -> str:
    return f"(SELECT {column} FROM mz_internal.mz_functions WHERE oid = argument1)"


def _without_needless_quotes(name: str) -> str:
    """The name of a relation, perhaps with its schema. Parts that need no quotes have none, be they
    reserved words."""
    return f"""regexp_replace({name}, '"([a-z_][a-z0-9_$]*)"', '\\1', 'g')"""


_RELATION_NAME = _without_needless_quotes("argument1")


CATALOG_FUNCTIONS: dict[str, tuple[tuple[ScalarType, ...], int, str]] = {
    # name: types of arguments, how many must be there, the expression
    # What names mean that are no constants. Those of relations may be quoted and have schemas.
    "regnamespace_named": ((TEXT,), 1, _number("pg_catalog.pg_namespace", "nspname = argument1")),
    "database_named": ((TEXT,), 1, _number("pg_catalog.pg_database", "datname = argument1")),
    "cluster_named": (
        (TEXT,),
        1,
        _number("mz_internal.mz_held_privileges", "kind = 'cluster' AND name = argument1"),
    ),
    "regrole_named": ((TEXT,), 1, _number("pg_catalog.pg_roles", "rolname = argument1")),
    "regclass_named": (
        (TEXT,),
        1,
        _number(
            f"(SELECT oid, {_without_needless_quotes('full_name')} AS name "
            "FROM mz_internal.mz_visible_relations UNION ALL "
            f"SELECT oid, {_without_needless_quotes('shown_name')} "
            "FROM mz_internal.mz_visible_relations) AS names",
            f"name = CASE WHEN strpos({_RELATION_NAME}, '\"') = 0 THEN lower({_RELATION_NAME}) "
            f"ELSE {_RELATION_NAME} END",
        ),
    ),
    "regclass_name": ((REGCLASS,), 1, _named("mz_internal.mz_visible_relations", "shown_name")),
    "regnamespace_name": ((REGNAMESPACE,), 1, _named("pg_catalog.pg_namespace", "nspname")),
    "regproc_name": ((REGPROC,), 1, _named("pg_catalog.pg_proc", "proname")),
    "regrole_name": ((REGROLE,), 1, _named("pg_catalog.pg_roles", "rolname")),
    "regtype_name": ((REGTYPE,), 1, _named("mz_internal.mz_type_names", "shown_name")),
    "pg_get_userbyid": (
        (OID,),
        1,
        (
            "coalesce((SELECT rolname FROM pg_catalog.pg_roles WHERE oid = argument1), "
            "'unknown (OID=' || argument1::text || ')')"
        ),
    ),
    "format_type": ((OID, INTEGER), 2, _TYPE_NAME),
    "pg_table_is_visible": (
        (OID,),
        1,
        "(SELECT is_visible FROM mz_internal.mz_visible_relations WHERE oid = argument1)",
    ),
    "pg_type_is_visible": (
        (OID,),
        1,
        "(SELECT is_visible FROM mz_internal.mz_type_names WHERE oid = argument1)",
    ),
    **{
        f"pg_{kind}_is_visible": ((OID,), 1, _is_searched(relation, schema))
        for kind, relation, schema in (
            ("function", "pg_proc", "pronamespace"),
            ("collation", "pg_collation", "collnamespace"),
            ("opclass", "pg_opclass", "opcnamespace"),
            ("operator", "pg_operator", "oprnamespace"),
            ("opfamily", "pg_opfamily", "opfnamespace"),
            ("conversion", "pg_conversion", "connamespace"),
            ("statistics_obj", "pg_statistic_ext", "stxnamespace"),
            ("ts_config", "pg_ts_config", "cfgnamespace"),
            ("ts_dict", "pg_ts_dict", "dictnamespace"),
            ("ts_parser", "pg_ts_parser", "prsnamespace"),
            ("ts_template", "pg_ts_template", "tmplnamespace"),
        )
    },
    "pg_get_expr": ((TEXT, OID, BOOLEAN), 2, "argument1"),
    "pg_get_viewdef": (
        (REGCLASS, BOOLEAN),
        1,
        "(SELECT definition FROM mz_internal.mz_view_definitions WHERE oid = argument1)",
    ),
    "pg_get_constraintdef": (
        (OID, BOOLEAN),
        1,
        "(SELECT definition FROM mz_internal.mz_constraint_definitions WHERE oid = argument1)",
    ),
    "pg_get_indexdef": (
        (OID, INTEGER, BOOLEAN),
        1,
        """CASE WHEN coalesce(argument2, 0) = 0 THEN (SELECT indexdef FROM mz_internal.mz_index_definitions WHERE oid = argument1)
        ELSE (SELECT CASE WHEN parts[argument2] IS NULL THEN ''
            WHEN argument3 OR parts[argument2] NOT LIKE '(%' THEN parts[argument2] ELSE '(' || parts[argument2] || ')' END
            FROM mz_internal.mz_index_keys WHERE oid = argument1) END""",
    ),
    "pg_encoding_to_char": ((INTEGER,), 1, "CASE argument1 WHEN 6 THEN 'UTF8' ELSE '' END"),
    "pg_char_to_encoding": ((TEXT,), 1, "CASE upper(argument1) WHEN 'UTF8' THEN 6 ELSE -1 END"),
    "pg_client_encoding": ((), 0, "'UTF8'"),
    "pg_encoding_max_length": ((INTEGER,), 1, "CASE argument1 WHEN 6 THEN 4 END"),
    "getdatabaseencoding": ((), 0, "'UTF8'"),
    "pg_size_pretty": ((BIGINT,), 1, _size()),
    **dict.fromkeys(
        ("pg_table_size", "pg_relation_size", "pg_total_relation_size"), ((REGCLASS,), 1, _BYTES)
    ),
    "pg_database_size": (
        (TEXT,),
        1,
        "(SELECT coalesce(sum(size_bytes), 0)::bigint FROM mz_internal.mz_relation_sizes)",
    ),
    "pg_relation_is_publishable": ((OID,), 1, "FALSE AND argument1 IS NOT NULL"),
    "pg_is_other_temp_schema": ((OID,), 1, "FALSE AND argument1 IS NOT NULL"),
    "quote_ident": (
        (TEXT,),
        1,
        (
            "CASE WHEN argument1 ~ '^[a-z_][a-z0-9_]*$' "
            f"AND argument1 !~ '^({RESERVED_WORD})$' THEN argument1 ELSE '\"' || "
            "replace(argument1, '\"', '\"\"') || '\"' END"
        ),
    ),
    "quote_literal": (
        (TEXT,),
        1,
        r"""CASE WHEN strpos(argument1, '\') > 0 THEN 'E' ELSE '' END
        || '''' || replace(replace(argument1, '\', '\\'), '''', '''''') || ''''""",
    ),
    "obj_description": (
        (OID, TEXT),
        1,
        """(SELECT max(comment) FROM mz_internal.mz_object_comments
        WHERE oid = argument1 AND class_name = coalesce(argument2, 'pg_class')
        AND object_sub_id IS NULL)""",
    ),
    "shobj_description": (
        (OID, TEXT),
        2,
        """(SELECT max(comment) FROM mz_internal.mz_object_comments
        WHERE oid = argument1 AND class_name = argument2)""",
    ),
    "col_description": (
        (OID, INTEGER),
        2,
        """(SELECT max(comment) FROM mz_internal.mz_object_comments
        WHERE oid = argument1 AND class_name = 'pg_class' AND object_sub_id = argument2)""",
    ),
    # What there is none of here: statistics, tablespaces.
    "pg_stat_get_numscans": ((OID,), 1, "NULL::bigint"),
    "pg_get_function_result": ((OID,), 1, _of_function("result")),
    "pg_get_function_arguments": ((OID,), 1, _of_function("arguments")),
    "pg_get_function_identity_arguments": ((OID,), 1, _of_function("identity_arguments")),
    "pg_get_statisticsobjdef_columns": ((OID,), 1, "NULL"),
    "pg_get_partkeydef": ((OID,), 1, "NULL"),
    "pg_get_ruledef": ((OID, BOOLEAN), 1, "NULL"),
    "pg_get_triggerdef": ((OID, BOOLEAN), 1, "NULL"),
    "pg_get_functiondef": ((OID,), 1, _of_function("create_sql")),
    "pg_is_in_recovery": ((), 0, "FALSE"),
    "pg_my_temp_schema": ((), 0, "0::oid"),
    "pg_is_wal_replay_paused": ((), 0, "FALSE"),
    "inet_client_addr": (
        (),
        0,
        "(SELECT max(client_addr) FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid())",
    ),
    "inet_client_port": (
        (),
        0,
        "(SELECT max(client_port) FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid())",
    ),
    "pg_get_serial_sequence": (
        (REGCLASS, TEXT),
        2,
        """(SELECT max(quote_ident(n.nspname) || '.' || quote_ident(c.relname)) FROM mz_internal.mz_sequences AS s
        JOIN mz_internal.mz_attributes AS a ON a.oid = s.owner_oid AND a.position = s.owner_position
        JOIN pg_catalog.pg_class AS c ON c.oid = s.oid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE s.owner_oid = argument1::oid AND a.name = argument2)""",
    ),
    "pg_tablespace_location": ((OID,), 1, "''"),
    "pg_tablespace_size": (
        (OID,),
        1,
        "(SELECT coalesce(sum(size_bytes), 0)::bigint FROM mz_internal.mz_relation_sizes)",
    ),
}


def expression(body: str) -> exp.Expr:
    """The expression that ``body`` is as SQL."""
    return _parsed(body).copy()


@cache
def _parsed(body: str) -> exp.Expr:
    query = parse_one(f"SELECT {body}")
    assert isinstance(query, QueryStatement)
    expression: exp.Expr = query.this.expressions[0]
    return expression


def definition(name: str, arguments: Sequence[Planned]) -> tuple[tuple[ScalarType, ...], exp.Expr]:
    """The types of all arguments, and the expression. Raises ``UnknownFunction``."""
    types, required, body = CATALOG_FUNCTIONS[name]
    if not required <= len(arguments) <= len(types):
        raise UnknownFunction(
            name,
            ["unknown" if argument.type is None else str(argument.type) for argument in arguments],
        )
    return types, expression(body)


def with_arguments(scalar: TypedExpr, arguments: Sequence[TypedExpr]) -> TypedExpr:
    """``scalar`` over a row of arguments, as a scalar over the row from which the arguments are
    computed."""

    def here(part: TypedExpr) -> TypedExpr | None:
        match part:
            case ColumnRef(index):
                return arguments[index]
            case SubqueryValue():
                return moved(part)
            case _:
                return None

    def inside(part: TypedExpr) -> TypedExpr | None:
        match part:
            case OuterRef(index):
                return to_outer(arguments[index])
            case SubqueryValue():
                return moved(part)
            case _:
                return None

    def moved(part: SubqueryValue) -> SubqueryValue:
        conditions = tuple(rewrite(condition, inside) for condition in part.conditions)
        domain = tuple(rewrite(column, inside) for column in part.domain)
        return replace(
            part, conditions=conditions, result=rewrite(part.result, inside), domain=domain
        )

    return rewrite(scalar, here)

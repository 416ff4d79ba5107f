"""The statements of the backslash commands that list objects, after those of psql."""

from __future__ import annotations

from reclock.errors import InvalidOption

LISTS = {
    r"\d": "OBJECTS",
    r"\dt": "TABLES",
    r"\dv": "VIEWS",
    r"\dm": "MATERIALIZED VIEWS",
    r"\di": "INDEXES",
    r"\ds": "SEQUENCES",
    r"\df": "FUNCTIONS",
    r"\dT": "TYPES",
    r"\dn": "SCHEMAS",
    r"\du": "ROLES",
    r"\l": "DATABASES",
}
"""What a command lists: of the first schema of the search path, unless its pattern names one."""

RELKINDS = {
    r"\d+": "rvmiS",
    r"\dt+": "r",
    r"\dv+": "v",
    r"\dm+": "m",
    r"\di+": "i",
    r"\ds+": "S",
    r"\dp": "rvmS",
}
"""The kinds of relations that a command lists with details."""

_DETAILS = """pg_get_userbyid(relowner) AS owner,
    pg_size_pretty(pg_total_relation_size(c.oid)) AS size,
    obj_description(c.oid, 'pg_class') AS description"""

_PRIVILEGES = "relacl AS privileges"

EXTENSIONS = "SELECT extname AS name, extversion AS version FROM pg_extension"

_WILDCARDS = {"*": "%", "?": "_", "%": r"\%", "_": r"\_", "\\": r"\\", "'": "''"}
"""A character of psql's patterns in the constant of a LIKE."""

CONNECTION = """SELECT current_database() AS database, current_user AS role,
    current_setting('cluster') AS cluster, version() AS version"""


def list_statement(command: str, pattern: str) -> str:
    """The statement of a command of ``LISTS``, for the names that the pattern of psql selects."""
    return f"SHOW {LISTS[command]}{_matching(pattern)}"


def details_statement(command: str, pattern: str) -> str:
    """The statement of a command of ``RELKINDS``, for the relations that the pattern selects."""
    facts = _PRIVILEGES if command == r"\dp" else _DETAILS
    return _relations(RELKINDS[command], facts, pattern)


def columns_statement(name: str) -> str:
    """The columns of a relation."""
    return f"SHOW COLUMNS FROM {name}"


def is_pattern(argument: str) -> bool:
    """Whether the argument selects several names, or none is there."""
    return not argument or bool(set("*?") & set(argument))


def _matching(pattern: str) -> str:
    """The clauses of SHOW for a pattern of psql."""
    schema, like = _schema_and_like(pattern)
    return (f" FROM {schema}" if schema else "") + (f" LIKE '{like}'" if like else "")


def _relations(kinds: str, facts: str, pattern: str) -> str:
    """The query for facts about the relations of these kinds that a pattern of psql selects."""
    schema, like = _schema_and_like(pattern)
    within = f"'{schema.lower()}'" if schema else "current_schema()"
    return f"""SELECT relname AS name, {facts}
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
        WHERE nspname = {within} AND strpos('{kinds}', relkind::text) > 0
        AND relname LIKE '{like or "%"}' ORDER BY relname"""


def _schema_and_like(pattern: str) -> tuple[str, str]:
    """The schema and the pattern of LIKE that a pattern of psql means, each empty if it is not
    there: of names, or of names in a schema that it names, such as ``sales.*``."""
    schema, _, names = pattern.rpartition(".")
    if set("*?") & set(schema):
        raise InvalidOption(
            "a pattern names one schema",
            hint="SELECT name, type FROM mz_objects lists the objects of all schemas",
        )
    return schema, "".join(_WILDCARDS.get(character, character) for character in names)

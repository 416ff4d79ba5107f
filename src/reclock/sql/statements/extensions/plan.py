"""What there is none of: extensions, triggers, rules and policies."""

from __future__ import annotations

from reclock.errors import UnknownObject, UnsupportedSql
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, parts
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.extensions.syntax import (
    CommentOnExtensionStatement,
    CreateExtensionStatement,
    DropExtensionsStatement,
    DropTablePartStatement,
)

_BUILT_IN = {
    "pgcrypto": "digest(), hmac() and gen_random_uuid() are built in",
    "plpgsql": "functions are in LANGUAGE SQL",
    "uuid-ossp": "uuid_generate_v4() is built in",
}
"""Extensions that schemas of applications create for what is there without them."""


@plans(CreateExtensionStatement)
def create_extension(
    node: CreateExtensionStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    name = fold(node.this)
    if name not in _BUILT_IN:
        raise UnsupportedSql(
            f'extension "{name}" is not available',
            detail="Reclock has no extensions; all functions are built in.",
            hint="leave the statement out",
        )
    return Skipped("CREATE EXTENSION", f'extension "{name}" is not needed: {_BUILT_IN[name]}')


@plans(CommentOnExtensionStatement)
def comment_on_extension(
    node: CommentOnExtensionStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    name = fold(node.this)
    if name not in _BUILT_IN:
        raise UnknownObject("extension", name)
    return Skipped("COMMENT", f'extension "{name}" has no comment: {_BUILT_IN[name]}')


@plans(DropExtensionsStatement)
def drop_extensions(
    node: DropExtensionsStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    names = [fold(name) for name in node.args["names"]]
    if not node.args.get("exists"):
        raise UnknownObject("extension", names[0])
    notices = [f'extension "{name}" does not exist, skipping' for name in names]
    return Skipped("DROP EXTENSION", "; ".join(notices))


@plans(DropTablePartStatement)
def drop_table_part(
    node: DropTablePartStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    kind, name, on = node.args["kind"], fold(node.this), parts(node.args["on"])
    if not node.args.get("exists"):
        relation = catalog.resolve(on, session).name.item
        raise UnknownObject(kind.lower(), name, detail=f'It would be one of table "{relation}".')
    notice = f'relation "{".".join(on)}" does not exist, skipping'
    if catalog.find(on, session) is not None:
        notice = f'{kind.lower()} "{name}" for {notice}'
    return Skipped(f"DROP {kind}", notice)

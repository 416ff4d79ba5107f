"""Planning that all definitions share: unused names, and the text that the catalog stores."""

from __future__ import annotations

from sqlglot import exp

from reclock.catalog.objects import ItemType
from reclock.errors import (
    DuplicateObject,
    SqlSyntaxError,
    UnsupportedSql,
    quoted_name,
)
from reclock.sql.catalog.entries import Entry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, parts
from reclock.sql.planning.registry import Skipped
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one

_RELATIONS = {"TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX", "SEQUENCE"}
_KINDS = {ItemType.SOURCE_PROGRESS: "progress relation"}


def kind_of(entry: Entry) -> str:
    return _KINDS.get(entry.type, entry.type.value)


def chosen_cluster(node: exp.Expr, catalog: PlannerCatalog, session: SessionNames) -> int:
    """The cluster of IN CLUSTER, or the active one. Raises ``UnknownObject``."""
    cluster = node.args.get("cluster")
    return catalog.cluster_id(fold(cluster) if cluster is not None else session.cluster)


def skip_existing(
    node: nodes.Statement, name: QualifiedName, type: ItemType, catalog: PlannerCatalog
) -> Skipped | None:
    """Whether IF NOT EXISTS leaves nothing to do. Raises ``DuplicateObject`` if the name is in
    use."""
    old = catalog.within(name.scope).get(name.item)
    if old is not None and node.args.get("exists") and old.type is type:
        kind = "MATERIALIZED VIEW" if node.args.get("materialized") else type.value.upper()
        return Skipped(
            f"CREATE {kind}", f"{kind_of(old)} {quoted_name(name)} already exists, skipping"
        )
    check_free(name, catalog)
    return None


def skip_missing(node: nodes.Statement, kind: str, old: Entry | None) -> Skipped | None:
    """Whether IF EXISTS of an ALTER leaves nothing to do: ``old``, the object of the name, is None.
    The notice calls what PostgreSQL has too as PostgreSQL does."""
    if old is not None or not node.args.get("exists"):
        return None
    noun = "relation" if kind in _RELATIONS else kind.lower()
    name = ".".join(parts(node.this))
    return Skipped(f"ALTER {kind}", f'{noun} "{name}" does not exist, skipping')


def check_free(name: QualifiedName, catalog: PlannerCatalog) -> None:
    old = catalog.within(name.scope).get(name.item)
    if old is not None:
        raise DuplicateObject(kind_of(old), str(name))


def definition_text(node: nodes.Statement) -> str:
    """The text of a definition, which parses to what was planned."""
    text = to_sql(node)
    try:
        is_same = parse_one(text) == node
    except SqlSyntaxError:
        is_same = False
    if not is_same:
        raise UnsupportedSql(
            "this definition cannot be kept as text", detail=text, hint="write it in a plainer form"
        )
    return text

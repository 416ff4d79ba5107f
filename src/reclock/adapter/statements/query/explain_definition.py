"""EXPLAIN of a statement that is no query. If it changes the catalog: what it requires of the role,
what it changes, and what controllers and upstreams do afterwards. If it changes rows of tables: the
plans of its parts. It writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from reclock.adapter.context.results import Result, describes, text_desc, text_result
from reclock.adapter.planning.authorization import (
    AuthorizationContext,
    Requirements,
    requirements,
    requires,
)
from reclock.adapter.query.explain_changes import changes_rows, explain_changes
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import check_permanent, definition_of
from reclock.adapter.transaction import cleanup
from reclock.adapter.transaction.catalog_change import defines
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.catalog.encoding import encode
from reclock.catalog.kinds import CatalogObject, label, spec_of
from reclock.catalog.objects import Item, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.controllers.implied import (
    compute_commands,
    dataflows,
    incarnations,
    replicas_of,
    storage_commands,
)
from reclock.errors import UnsupportedSql
from reclock.protocol.compute import CreateDataflow
from reclock.protocol.storage import CreateCollections
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import quote
from reclock.sql.owned import described, role_name
from reclock.sql.statements.query.values import ExplainDefinition

_DESC, _PLAN_DESC = text_desc("Changes"), text_desc("Plan")

_UNSHOWN = (Kind.ID_ALLOCATOR, Kind.CLUSTER_INTROSPECTION_SOURCE_INDEX)
_UNKNOWN_BEFORE_COMMIT = ("incarnation", "created_at")


@requires(ExplainDefinition)
def _(statement: ExplainDefinition, context: AuthorizationContext) -> Requirements:
    if type(statement.definition) not in defines and not changes_rows(statement.definition):
        raise UnsupportedSql(
            f"EXPLAIN of {statement.definition.tag.split()[0]} is not supported",
            hint="queries, and statements that change tables or the catalog, can be explained",
        )
    return context.of(statement.definition)


@describes(ExplainDefinition)
def _(statement: ExplainDefinition) -> RelationDesc:
    return _PLAN_DESC if changes_rows(statement.definition) else _DESC


@executes(ExplainDefinition)
def _(statement: ExplainDefinition, context: StatementContext) -> Result:
    if changes_rows(statement.definition):
        lines = explain_changes(statement.definition, context.catalog)
        return text_result(statement.tag, _PLAN_DESC, lines)
    context = replace(context, parsed=replace(context.parsed, node=context.parsed.node.this))
    if getattr(getattr(statement.definition, "name", None), "is_temporary", False):
        raise UnsupportedSql("EXPLAIN of a temporary object is not supported")
    check_permanent(statement.definition, context)
    definition = definition_of(statement.definition, context)
    before, after = context.transactions.definitions.preview(definition)
    required = requirements(
        statement.definition, context.catalog, context.users, context.variables.get("cluster")
    )
    assert context.catalog.snapshot is not None
    lines = ["requires:", *_indented(_required(required, context.catalog.snapshot))]
    if after.change is not None:
        after.change.tx.changes()  # raises what the commit would raise
        assert before.newest.snapshot is not None
        base = before.change.tx.snapshot if before.change is not None else before.newest.snapshot
        changes = _changes(after.change.tx.differences(base))
        lines += ["changes of the catalog:", *_indented(changes)]
        dropped = [id for id in base.items if id not in after.change.tx.snapshot.items]
        pending = cleanup.pending_of(before.catalog, dropped, context.environment)
        upstream = (f"upstream of {task.name}: drop the {task.what}" for task in pending)
        effects = [*_effects(before.catalog, after.catalog), *upstream]
        lines += ["effects:", *_indented(effects)]
    return text_result(statement.tag, _DESC, lines)


def _indented(lines: Iterator[str] | list[str]) -> list[str]:
    return [f"  {line}" for line in lines] or ["  nothing"]


def _required(required: Requirements, snapshot: CatalogSnapshot) -> Iterator[str]:
    if required.superuser_to is not None:
        yield f"superuser, to {required.superuser_to}"
    for target in required.owner_of:
        yield f"ownership of {described(snapshot, target)}"
    for role_id in required.member_of:
        yield f'membership of role "{role_name(snapshot, role_id)}"'
    for need in required.needs:
        whose = (
            ""
            if need.role_id == required.role_id
            else f' for role "{role_name(snapshot, need.role_id)}"'
        )
        yield f"{need.privilege.name} on {described(snapshot, need.target)}{whose}"


def _changes(
    differences: Iterator[tuple[CatalogObject | None, CatalogObject | None]],
) -> Iterator[str]:
    """A line for each object: ``+`` is created, ``-`` dropped, ``~`` altered. New ids are those that
    the next statement would get."""
    for before, after in differences:
        object = before if after is None else after
        assert object is not None
        kind = spec_of(object).kind
        if kind in _UNSHOWN:
            continue
        key = spec_of(object).key_of(object)
        name = f"{kind} {encode(object)[1] if isinstance(key, tuple) else key}"
        if after is None:
            yield f"- {name}: {json.dumps(label(object), ensure_ascii=False)}"
        elif before is None:
            fields = (f"{field} {text}" for field, text in _fields(after).items())
            yield f"+ {name}: {', '.join(fields)}"
        else:
            old, new = _fields(before), _fields(after)
            fields = (
                f"{field} {old.get(field, 'null')} → {new.get(field, 'null')}"
                for field in dict.fromkeys((*old, *new))
                if old.get(field) != new.get(field)
            )
            yield f"~ {name}: {', '.join(fields)}"


def _fields(object: CatalogObject) -> dict[str, str]:
    """The fields that have a value, as JSON, without those that the commit sets."""
    value = json.loads(encode(object)[2])
    return {
        field: json.dumps(content, ensure_ascii=False)
        for field, content in sorted(value.items())
        if content not in (None, "", [], {}) and field not in _UNKNOWN_BEFORE_COMMIT
    }


def _effects(before: PlannerCatalog, after: PlannerCatalog) -> Iterator[str]:
    """The commands that the controllers give once the change is committed."""
    names = {item.id: item.name for catalog in (before, after) for item in _items(catalog)}
    for command in storage_commands(incarnations(before), after):
        if isinstance(command, CreateCollections):
            yield f"storage: create {command.id} ({quote(names[command.id])})"
        else:
            yield from (f"storage: drop {id} ({quote(names[id])})" for id in command.ids)
    clusters = {id: name for catalog in (before, after) for name, id in catalog.clusters.items()}
    for cluster_id, name in clusters.items():
        for effect in _cluster_effects(before, after, cluster_id, names):
            yield f"cluster {quote(name)}: {effect}"


def _cluster_effects(
    before: PlannerCatalog, after: PlannerCatalog, cluster_id: int, names: dict[GlobalId, str]
) -> Iterator[str]:
    old_replicas, new_replicas = (
        {replica.name for replica in replicas_of(catalog, cluster_id)}
        for catalog in (before, after)
    )
    yield from (f"start replica {quote(name)}" for name in sorted(new_replicas - old_replicas))
    yield from (f"stop replica {quote(name)}" for name in sorted(old_replicas - new_replicas))
    for command in compute_commands(dataflows(before, cluster_id), after, cluster_id):
        if isinstance(command, CreateDataflow):
            dataflow = command.dataflow
            yield f"maintain {dataflow.id} ({quote(names[dataflow.id])})"
        else:
            yield f"stop maintaining {command.id} ({quote(names[command.id])})"


def _items(catalog: PlannerCatalog) -> Iterator[Item]:
    assert catalog.snapshot is not None
    yield from catalog.snapshot.items.values()

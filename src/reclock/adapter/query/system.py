"""The rows of system relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from reclock.adapter.context.statuses import current_statuses, status_history
from reclock.adapter.context.variables import VARIABLES
from reclock.adapter.query.constraint_facts import constraint_facts
from reclock.adapter.query.domain_facts import domain_facts
from reclock.adapter.query.function_facts import function_facts
from reclock.adapter.query.sequence_facts import default_text, sequence_facts
from reclock.adapter.timestamps.readiness import broken_objects
from reclock.algebra.ids import GlobalId
from reclock.algebra.index_keys import is_default_name
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import ItemType
from reclock.compute.engines.engine import result_schema
from reclock.compute.maintenance import maintainer
from reclock.controllers.implied import dataflow
from reclock.definitions.sinks import KafkaTarget
from reclock.errors import InternalError, quoted_name
from reclock.introspection.builtins import BUILTINS
from reclock.introspection.privacy import IntrospectionReader
from reclock.introspection.relation import (
    SUBSOURCE,
    CatalogState,
    CompositeFacts,
    IndexFacts,
    SinkFacts,
    SystemState,
)
from reclock.introspection.types import MANAGED
from reclock.protocol.compute import Replica
from reclock.quality.docs_index import read_index
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import (
    CompositeEntry,
    ConnectionEntry,
    EnumEntry,
    IndexEntry,
    RelationEntry,
    SinkEntry,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one


def system_rows(
    environment: Environment,
    catalog: PlannerCatalog,
    id_: GlobalId,
    reader: IntrospectionReader,
    replica: Callable[[], Replica],
    at: Timestamp | None,
) -> pa.Table:
    """The rows of a system relation that ``reader`` may see, as of now.

    A relation that storage manages can be read as of ``at``. Logs are those of ``replica``.
    """
    name = catalog.relation(id_).name
    builtin = next(
        builtin
        for builtin in BUILTINS
        if (builtin.schema, builtin.name) == (name.schema, name.item)
    )
    if builtin.managed is not None:
        rows = environment.stores.managed.rows(id_, builtin.desc, at).cast(
            result_schema(builtin.desc.columns)
        )
        return reader.redact(rows, "authenticated_user", MANAGED[builtin.managed].private)
    if builtin.catalog_rows is not None:
        return _table(builtin.desc, list(builtin.catalog_rows(_catalog_state(catalog))))
    if builtin.rows is None:
        raise InternalError(f"builtin view {quoted_name(name)} has no stored rows")
    return _table(builtin.desc, list(builtin.rows(_state(environment, catalog, reader, replica))))


def _catalog_state(catalog: PlannerCatalog) -> CatalogState:
    assert catalog.snapshot is not None
    return CatalogState(
        catalog=catalog.snapshot,
        descs={entry.id: entry.desc for entry in catalog.relations()},
        indexes={index.id: _index_facts(index, catalog) for index in catalog.indexes()},
        connection_types={
            entry.id: entry.connection.type_name
            for entry in catalog.entries()
            if isinstance(entry, ConnectionEntry)
        },
        source_types={
            entry.id: _source_type(entry)
            for entry in catalog.relations()
            if entry.type is ItemType.SOURCE
        },
        sinks={sink.id: _sink_facts(sink) for sink in catalog.sinks()},
        queries=lambda: _queries(catalog),
        defaults=lambda: _defaults(catalog),
        constraints=lambda: constraint_facts(catalog),
        generated=lambda: _generated(catalog),
        maintenance=lambda: {index.id: _maintenance(catalog, index) for index in catalog.indexes()},
        dependencies=lambda: {
            entry.id: entry.depends_on for entry in catalog.entries() if not entry.is_system
        },
        functions=lambda: function_facts(catalog),
        enums=lambda: [e.enum for e in catalog.entries() if isinstance(e, EnumEntry)],
        domains=lambda: domain_facts(catalog),
        composites=lambda: [
            CompositeFacts(entry.id, entry.composite)
            for entry in catalog.entries()
            if isinstance(entry, CompositeEntry)
        ],
    )


def _state(
    environment: Environment,
    catalog: PlannerCatalog,
    reader: IntrospectionReader,
    replica: Callable[[], Replica],
) -> SystemState:
    return SystemState(
        of_catalog=_catalog_state(catalog),
        broken=lambda: broken_objects(environment, catalog),
        frontiers=lambda: environment.control_plane.frontiers_of(catalog),
        statuses=lambda: list(current_statuses(environment.stores, catalog).values()),
        status_history=lambda: status_history(environment.stores, catalog),
        pending_cleanups=environment.stores.pending_cleanup.get_all,
        registrations=lambda: environment.stores.registrations.get_all().values(),
        audit_events=environment.stores.catalog.get_audit_logs,
        storage_usages=environment.stores.catalog.get_storage_usages,
        sequences=lambda: sequence_facts(catalog, environment.stores.sequences.positions()),
        settings=lambda: (
            (name, variable.default, variable.description) for name, variable in VARIABLES.items()
        ),
        statistics=environment.stores.statistics.get_all,
        audits=lambda: read_index(environment.stores.settings.home / "quality"),
        backends=environment.runtime.backends.all,
        reader=reader,
        now=environment.stores.clock,
        log=lambda name: replica().log(name),
    )


def _index_facts(index: IndexEntry, catalog: PlannerCatalog) -> IndexFacts:
    relation = catalog.entry(index.on)
    is_of_view = relation is not None and relation.type is ItemType.VIEW
    is_view_default = is_of_view and is_default_name(index.name.item)
    return IndexFacts(
        index.on, index.cluster_id, index.key, is_view_default, index.included, index.is_unique
    )


def _source_type(entry: RelationEntry) -> str:
    return entry.source.connector.type_name if entry.source is not None else SUBSOURCE


def _sink_facts(sink: SinkEntry) -> SinkFacts:
    target = sink.sink.target
    envelope = target.envelope.lower() if isinstance(target, KafkaTarget) else None
    return SinkFacts(sink.on, sink.cluster_id, target.type_name, envelope)


def _maintenance(catalog: PlannerCatalog, index: IndexEntry) -> str:
    index_dataflow = dataflow(catalog, index)
    return maintainer(index_dataflow.plan, index_dataflow.desc).mode


def _queries(catalog: PlannerCatalog) -> dict[GlobalId, str]:
    texts = {
        entry.id: entry.create_sql
        for entry in catalog.relations()
        if entry.query is not None and entry.create_sql
    }
    return {id: to_sql(parse_one(text).args["query"]) for id, text in texts.items()} | {
        entry.id: entry.builtin_view
        for entry in catalog.relations()
        if entry.builtin_view is not None
    }


def _defaults(catalog: PlannerCatalog) -> dict[GlobalId, dict[str, str]]:
    defaults: dict[GlobalId, dict[str, str]] = {}
    for entry in catalog.relations():
        if entry.table is not None:
            expressions = dict(enumerate(entry.table.defaults)) | dict(entry.table.computed)
            defaults[entry.id] = {
                entry.desc.names[position]: default_text(expression)
                for position, expression in expressions.items()
                if expression is not None
            }
    return defaults


def _generated(catalog: PlannerCatalog) -> dict[GlobalId, dict[str, str]]:
    generated: dict[GlobalId, dict[str, str]] = {}
    for entry in catalog.relations():
        if entry.table is None:
            continue
        columns = dict.fromkeys(entry.table.computed, "s")
        for position, column in entry.table.generated.items():
            if column.identity is not None:
                columns[position] = "a" if column.identity == "ALWAYS" else "d"
        generated[entry.id] = {entry.desc.names[i]: letter for i, letter in columns.items()}
    return generated


def _table(desc: RelationDesc, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    schema = result_schema(desc.columns)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(desc)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )

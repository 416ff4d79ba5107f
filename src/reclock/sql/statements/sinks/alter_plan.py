"""ALTER SINK … SET FROM: another relation for the same target."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.errors import InvalidOption, SinkNotSwitched, quoted_name
from reclock.sql.catalog.entries import RelationEntry, SinkEntry
from reclock.sql.catalog.lookups import find_user_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, parts
from reclock.sql.planning.definitions import definition_text, skip_missing
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.sinks.plan import define_sink, sink_input
from reclock.sql.statements.sinks.syntax import (
    AlterSinkStatement,
    Continuation,
    CreateSinkStatement,
)
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class AlterSink:
    """The sink with this id gets another definition and another id. It reads ``on``."""

    id: GlobalId
    name: QualifiedName
    create_sql: str
    on: GlobalId
    tag: str = "ALTER SINK"

    @property
    def depends_on(self) -> frozenset[GlobalId]:
        return frozenset({self.on})


@plans(AlterSinkStatement)
def alter_sink(
    node: AlterSinkStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterSink | Skipped:
    skipped = skip_missing(node, "SINK", catalog.find(parts(node.this), session))
    if skipped is not None:
        return skipped
    sink = find_user_object(node, "SINK", catalog, session)
    assert isinstance(sink, SinkEntry)
    on, _ = sink_input(node.args["on"], catalog, session)
    if on.id == sink.on:
        return Skipped(
            "ALTER SINK", f"sink {quoted_name(sink.name)} reads {quoted_name(on.name)} already"
        )
    if sink.previous is not None:
        raise SinkNotSwitched(str(sink.name), str(catalog.relation(sink.on).name))
    _check_columns(sink, catalog.relation(sink.on), on)
    definition = parse_one(sink.create_sql)
    assert isinstance(definition, CreateSinkStatement)
    previous = definition.args["on"]
    creator = sink.sink.continues.creator if sink.sink.continues else sink.id
    definition.set("on", on.name.to_table())
    if define_sink(definition, on, catalog, SessionNames()).target != sink.sink.target:
        raise InvalidOption(
            f"sink {quoted_name(sink.name)} would write to its target in another form"
        )
    definition.set(
        "continuation",
        Continuation(
            this=exp.Literal.string(creator),
            replaced=exp.Literal.string(sink.id),
            previous=previous,
        ),
    )
    return AlterSink(sink.id, sink.name, definition_text(definition), on.id)


def settled(create_sql: str) -> str:
    """The definition of a sink that has switched to its relation."""
    definition = parse_one(create_sql)
    continuation = definition.args["continuation"]
    definition.set("continuation", Continuation(this=continuation.this))
    return definition_text(definition)


def _check_columns(sink: SinkEntry, old: RelationEntry, new: RelationEntry) -> None:
    """Raises ``InvalidOption`` unless the rows of ``new`` fit where those of ``old`` are."""
    columns = [
        ", ".join(f"{column.name} {column.type}" for column in entry.desc.columns)
        for entry in (old, new)
    ]
    if columns[0] != columns[1]:
        raise InvalidOption(
            f"{quoted_name(new.name)} has other columns than {quoted_name(old.name)}, which sink "
            f"{quoted_name(sink.name)} writes",
            detail=f"({columns[1]}) instead of ({columns[0]})",
            hint="select the same columns in a view, or create a sink with a new target",
        )
    for before, after in zip(old.desc.columns, new.desc.columns, strict=True):
        if after.is_nullable and not before.is_nullable:
            raise InvalidOption(
                f'column "{after.name}" of {quoted_name(new.name)} may be NULL, which the target '
                f"of sink {quoted_name(sink.name)} does not expect",
                hint="create a sink with a new target",
            )

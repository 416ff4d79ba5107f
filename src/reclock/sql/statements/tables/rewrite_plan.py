"""The rewriting of a table: its rows, computed again, and what the objects that depend on it
become.

The table gets a new id, because a collection has the same columns at all times. An object that
depends on another is younger than that, so the views and indexes over the table get new ids too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.errors import (
    DependentObjects,
    InternalError,
    ReclockError,
    UnknownColumn,
    UnsupportedSql,
    quoted_name,
)
from reclock.interruption import INTERRUPTIONS
from reclock.sql.catalog.entries import Entry, IndexEntry, RelationEntry
from reclock.sql.catalog.foreign_keys import referring_keys
from reclock.sql.catalog.lookups import dependents_closure, snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, parts, quote
from reclock.sql.planning.definitions import definition_text
from reclock.sql.planning.registry import item_planner_of
from reclock.sql.statements.query.plan import plan_query_statement
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.sequences.definitions import define_sequence, sequence_text
from reclock.sql.statements.sequences.syntax import SequenceOptions
from reclock.sql.statements.tables.assigned_parts import AssignedValue
from reclock.sql.statements.tables.column_changes import ColumnChanges, rename_identifiers
from reclock.sql.statements.tables.syntax import CreateTableStatement
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.nodes import QueryStatement, Statement
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class TableRewrite:
    """The table with ``create_sql``, whose first rows are ``rows`` of the old one."""

    create_sql: str
    rows: Select
    generated: frozenset[str]
    """The columns whose values a sequence generates."""
    renamed: Mapping[str, str]
    """The new name of each old column that remains."""
    sequences: tuple[tuple[QualifiedName, str], ...]
    """Names and definitions of the sequences that it owns in addition."""
    recreated: tuple[tuple[GlobalId, str], ...]
    """The views and indexes that are defined again, in this order, and their definitions."""
    redefined: tuple[tuple[GlobalId, str], ...]
    """Objects that keep their id, and their new definitions."""
    dropped: tuple[GlobalId, ...]


def plan_rewrite(
    table: RelationEntry,
    definition: CreateTableStatement,
    columns: ColumnChanges,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> TableRewrite:
    """The session answers ``now()`` and the like in defaults. Raises ``DependentObjects`` and
    ``UnsupportedSql`` if objects cannot be without a column, or cannot follow."""
    values = ", ".join(f"{value} AS {quote(name)}" for name, value in columns.values.items())
    query = tracked_copy(parse_one(f"SELECT {values} FROM {table.name}"))
    assert isinstance(query, QueryStatement)
    for item in query.this.expressions:
        if (column := columns.assigned.get(item.alias)) is not None:
            item.set("this", AssignedValue(this=item.this, column=column))
    dependents = Dependents(table, columns, catalog)
    dependents.plan()
    return TableRewrite(
        definition_text(definition),
        plan_query_statement(query, catalog, session),
        frozenset(columns.generated),
        columns.renamed,
        columns.sequences,
        tuple((id, text) for id, text in dependents.recreated.items()),
        tuple(dependents.redefined.items()),
        tuple(dependents.dropped),
    )


def views_that_need_the_key(
    table: RelationEntry, catalog: PlannerCatalog
) -> Iterator[RelationEntry]:
    """The views with a GROUP BY that shows further columns because the table's primary key is among
    its keys."""
    dependents = Dependents(table, ColumnChanges(table.desc), catalog)
    for view in catalog.relations():
        if view.query is not None and table.id in view.depends_on:
            has_groups = parse_one(view.create_sql or "").find(exp.Group) is not None
            if has_groups and not dependents.is_planned_without(view, set(), has_key=False):
                yield view


@dataclass(slots=True)
class Dependents:
    """What becomes of the objects that depend on the table."""

    table: RelationEntry
    columns: ColumnChanges
    catalog: PlannerCatalog
    recreated: dict[GlobalId, str] = field(default_factory=dict)
    redefined: dict[GlobalId, str] = field(default_factory=dict)
    dropped: dict[GlobalId, None] = field(default_factory=dict)

    def plan(self) -> None:
        ids, _ = dependents_closure({self.table.id}, self.catalog)
        owned = {sequence.id for sequence in self.catalog.sequences(self.table.name)}
        for id in sorted(ids, key=lambda id: int(id[1:])):
            entry = self.catalog.entry(id)
            if entry is None or id in (self.table.id, *owned, *self.dropped):
                continue
            self._follow(entry)
        self._follow_sequences()
        self._follow_foreign_keys()

    def _follow(self, entry: Entry) -> None:
        is_view = isinstance(entry, RelationEntry) and entry.query is not None
        if not is_view and not isinstance(entry, IndexEntry):
            kind = entry.type.value.replace("_", " ")
            raise UnsupportedSql(
                f'the rows of table "{self.table.name.item}" cannot be written again, because '
                f"{kind} {quoted_name(entry.name)} depends on it",
                hint=f"drop the {kind}, and create it again afterwards",
            )
        node = parse_one(entry.create_sql or "")
        if isinstance(entry, IndexEntry) and entry.on == self.table.id:
            self._follow_index(entry, node)
        elif isinstance(entry, RelationEntry) and self.table.id in entry.depends_on:
            self._follow_view(entry, node)
        else:
            self.recreated[entry.id] = entry.create_sql or ""

    # --- indexes ---

    def _follow_index(self, index: IndexEntry, node: Statement) -> None:
        names: list[exp.Identifier] = list(node.args.get("include") or ())
        for key in node.args["keys"]:
            is_column = isinstance(key, exp.Identifier)
            names += [key] if is_column else [column.this for column in key.find_all(exp.Column)]
        if any(fold(name) in self.columns.dropped for name in names):
            self.dropped[index.id] = None
            return
        _rename_all(names, self.columns.renamed)
        self.recreated[index.id] = definition_text(node)

    # --- views ---

    def _follow_view(self, view: RelationEntry, node: Statement) -> None:
        for column, is_cascading in self.columns.dropped.items():
            if self.is_planned_without(view, {column}):
                continue
            if not is_cascading:
                raise DependentObjects("column", column, [str(view.name)])
            self.dropped |= dict.fromkeys(dependents_closure({view.id}, self.catalog)[0])
            return
        if self.columns.converted and not self.is_planned_without(view, self.columns.converted):
            raise UnsupportedSql(
                "cannot alter type of a column used by a view or rule",
                detail=f"view {quoted_name(view.name)} depends on it",
            )
        renamed = self.columns.renamed
        pinned = self._columns_to_pin(node)
        if pinned is not None and pinned != {name: name for name in self.columns.values}:
            self._pin(node, pinned)
        elif any(old != new for old, new in renamed.items()):
            self._rename_pinned(node, renamed)
        self.recreated[view.id] = definition_text(node)

    def is_planned_without(
        self, view: RelationEntry, columns: set[str], *, has_key: bool = True
    ) -> bool:
        """Whether the view is the same over the rows of the table, without these columns; and without
        its key, unless the table ``has_key``."""
        remaining = {name: name for name in self.table.desc.names if name not in columns}
        node = parse_one(view.create_sql or "")
        if any(join.args.get("method") for join in node.find_all(exp.Join)):
            return False  # a NATURAL join, which may be by the column
        planner = item_planner_of(type(node))
        if planner is None:
            raise InternalError(f"{quoted_name(view.name)} has no planner")
        item = snapshot_of(self.catalog).items[view.id]
        try:
            self._pin(node, remaining, has_key=has_key)
            planned = planner(node, item, view.name, self.catalog)
        except INTERRUPTIONS:
            raise
        except ReclockError:
            return False
        return isinstance(planned, RelationEntry) and planned.desc.names == view.desc.names

    def _columns_to_pin(self, node: Statement) -> Mapping[str, str] | None:
        """The columns of the table that the definition has to name, old and new; None if it means
        the same whatever else changes."""
        changed = {old for old, new in self.columns.renamed.items() if old != new}
        changed |= {self.columns.renamed[old] for old in changed} | self.columns.added
        names = {fold(name) for name in node.find_all(exp.Identifier)}
        if not self._unpinned(node):
            return None
        if _reads_all_columns(node, {_called(table) for table in self._reads(node)}):
            return self.columns.renamed
        if not names & changed:
            return None
        named = {old: new for old, new in self.columns.renamed.items() if old in names}
        return named or self.columns.renamed

    def _pin(self, node: Statement, columns: Mapping[str, str], *, has_key: bool = True) -> None:
        """Make the definition read exactly these columns of the table, each by the name that it has
        there. Raises ``UnknownColumn`` if it names others already.

        What reads them knows of no key: a GROUP BY the table's key is by all columns from now on.
        """
        unpinned = self._unpinned(node)
        self._rename_pinned(node, columns)
        for table in unpinned:
            modifiers = {name for name, value in table.args.items() if value}
            if modifiers := modifiers - {"this", "db", "catalog", "alias"}:
                raise UnsupportedSql(
                    f'a definition that depends on table "{self.table.name.item}" cannot follow',
                    detail=f"it reads the table with {', '.join(sorted(modifiers))}",
                )
            listed = ", ".join(
                quote(new) if new == old else f"{quote(new)} AS {quote(old)}"
                for old, new in columns.items()
            )
            select = parse_one(f"SELECT {listed} FROM {self.table.name}")
            alias = table.args.get("alias") or exp.TableAlias(this=identifier(self.table.name.item))
            if has_key and columns.keys() >= set(self.table.key):
                _group_by_all(table, self.table.key, columns)
            table.replace(exp.Subquery(this=select.this, alias=alias))
        for column in node.find_all(exp.Column):
            if column.args.get("db"):
                column.set("catalog", None)
                column.set("db", None)

    def _rename_pinned(self, node: Statement, columns: Mapping[str, str]) -> None:
        for table in self._reads(node):
            for item in _pinned_items(table) or ():
                column = item.unalias()
                name = fold(column.this)
                if name not in columns:
                    raise UnknownColumn(name)
                if columns[name] == name:
                    continue
                column.this.replace(identifier(columns[name]))
                if column is item:
                    item.replace(exp.alias_(item.copy(), identifier(name), copy=False))

    def _unpinned(self, node: Statement) -> list[exp.Table]:
        return [table for table in self._reads(node) if _pinned_items(table) is None]

    def _reads(self, node: Statement) -> list[exp.Table]:
        """The places where the definition reads the table."""
        full = parts(self.table.name.to_table())
        return [
            table
            for table in node.find_all(exp.Table)
            if table is not node.this and parts(table) == full
        ]

    # --- sequences and foreign keys ---

    def _follow_sequences(self) -> None:
        for sequence in self.catalog.sequences(self.table.name):
            owner, column = sequence.sequence.owner or ((), "")
            new = self.columns.renamed.get(column, column)
            if column in self.columns.dropped or new in self.columns.without_identity:
                self.dropped[sequence.id] = None
                continue
            changed = sequence.sequence
            if (kind := self.columns.identities.get(column)) is not None:
                changed = define_sequence(SequenceOptions(type=kind.copy()), old=changed)
            changed = replace(changed, owner=(owner, new))
            if changed != sequence.sequence:
                self.redefined[sequence.id] = sequence_text(sequence.name, changed)

    def _follow_foreign_keys(self) -> None:
        for entry, constraint in referring_keys(self.table.name, self.catalog):
            if entry.id == self.table.id:
                continue
            node = parse_one(self.redefined.get(entry.id) or entry.create_sql or "")
            constraints = node.args["constraints"]
            foreign_key = next(
                child for child in constraints if fold(child.this) == constraint.name
            )
            if set(constraint.target_columns) in self.columns.dropped_keys:
                node.set(
                    "constraints", [child for child in constraints if child is not foreign_key]
                )
            else:
                _rename_all(foreign_key.args.get("target_columns") or [], self.columns.renamed)
            self.redefined[entry.id] = definition_text(node)


def _pinned_items(table: exp.Table) -> list[exp.Expr] | None:
    """The select list over the table, if that is a subquery of columns alone."""
    select = table.parent.parent if table.parent is not None else None
    if not isinstance(select, exp.Select) or not isinstance(select.parent, exp.Subquery):
        return None
    clauses = {name for name, value in select.args.items() if value} - {"expressions"}
    has_more = len(clauses) > 1 or not isinstance(table.parent, exp.From)
    items: list[exp.Expr] = select.expressions
    if has_more or table.args.get("alias") is not None:
        return None
    return items if all(_is_plain_column(item.unalias()) for item in items) else None


def _group_by_all(table: exp.Table, key: Sequence[str], columns: Iterable[str]) -> None:
    """Group the query that reads the table by all its columns, if it is grouped by the key, which
    determines them: the groups stay the same."""
    query = table.find_ancestor(exp.Select)
    group = query.args.get("group") if query is not None else None
    if group is None or not key:
        return
    called = _called(table)
    named = {
        fold(node.this)
        for node in group.expressions
        if isinstance(node, exp.Column)
        and (not node.args.get("table") or fold(node.args["table"]) == called)
    }
    if named >= set(key):
        for name in columns:
            if name not in named:
                group.append("expressions", exp.column(identifier(name), table=identifier(called)))


def _called(table: exp.Table) -> str:
    """The name by which the query knows the table."""
    alias = table.args.get("alias")
    return fold(alias.this) if alias is not None and alias.this else fold(table.this)


def _is_plain_column(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.args.get("table") and not node.find(exp.Star)


def _reads_all_columns(node: Statement, names: Collection[str]) -> bool:
    """Whether the meaning of the definition depends on which columns the table has, which it reads
    by these names."""
    return (
        any(
            isinstance(star.parent, exp.Select | exp.Column | exp.Dot)
            for star in node.find_all(exp.Star)
        )
        or any(join.args.get("method") for join in node.find_all(exp.Join))
        # such a name may stand for its whole row
        or any(fold(column.this) in names for column in node.find_all(exp.Column))
    )


def _rename_all(names: list[exp.Identifier], renamed: Mapping[str, str]) -> None:
    for name in list(names):
        new = renamed.get(fold(name))
        if new is not None and new != fold(name):
            rename_identifiers([name], fold(name), new)

"""The columns in scope of an expression, and how names resolve to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from reclock.algebra.relations import RelationDesc, ScalarType
from reclock.errors import AmbiguousColumn, AmbiguousRelation, NotInFromClause, UnknownColumn
from reclock.plan.relational import Ordering, Plan
from reclock.plan.scalars import ColumnRef
from reclock.sql.names import QualifiedName, nearest
from reclock.sql.queries.planned import OuterRef


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column of FROM. ``is_merged_away`` columns were merged by USING: only a qualified name
    reaches them."""

    relation: str | None
    name: str
    type: ScalarType
    qualified: QualifiedName | None = None
    is_merged_away: bool = False
    is_around: bool = False
    """Whether it is a column of the outer query, which unqualified names reach after the query's
    own columns."""
    origin: QualifiedName | None = None
    """The catalog relation that has the column."""
    position: int = 0
    """Its position in its relation. A join by USING moves columns, but ``t.*`` keeps their
    order."""

    is_key: bool = False
    """Whether it is in the key of its catalog relation."""
    is_value: bool = False
    """Whether it is the only column of a function in FROM, so that the function's name means it
    too."""
    declared_name: str | None = None
    """Its name in the catalog relation, if an alias of FROM gives it another one."""
    may_be_missing: bool = False
    """Whether an outer join shows NULL for it where it has no row of its relation."""
    on_use: Callable[[], object] | None = field(default=None, compare=False)
    """Called when a name is resolved to the column."""

    @property
    def field_name(self) -> str:
        """Its name in the row of its relation, which has the type of the catalog relation."""
        return self.declared_name or self.name

    @property
    def used(self) -> ScopeColumn:
        """The column, to which a name was resolved."""
        if self.on_use is not None:
            self.on_use()
        return self

    def belongs_to(self, qualifier: Sequence[str]) -> bool:
        if len(qualifier) == 1:
            return self.relation == qualifier[0]
        if self.qualified is None or self.relation != self.qualified.item:
            return False
        full = (self.qualified.database, self.qualified.schema, self.qualified.item)
        return tuple(qualifier) == full[-len(qualifier) :]


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns by position, as in the plan. ``outer`` is the scope of the outer query.
    ``row_order`` is the order that FROM's only subquery gives its rows."""

    columns: tuple[ScopeColumn, ...] = ()
    outer: Scope | None = None
    row_order: tuple[Ordering, ...] = ()

    @classmethod
    def of(
        cls,
        desc: RelationDesc,
        relation: str | None,
        qualified: QualifiedName | None = None,
        key: Collection[str] = (),
    ) -> Scope:
        return cls(
            tuple(
                ScopeColumn(
                    relation,
                    column.name,
                    column.type,
                    qualified,
                    origin=qualified,
                    position=i,
                    is_key=column.name in key,
                )
                for i, column in enumerate(desc.columns)
            )
        )

    @property
    def relations(self) -> list[str]:
        return list(
            dict.fromkeys(column.relation for column in self.columns if column.relation is not None)
        )

    def beside(self, other: Scope) -> Scope:
        return replace(self, columns=self.columns + other.columns)

    def with_missing_rows(self) -> Scope:
        """The columns as an outer join shows them that also has rows without theirs."""
        return replace(
            self, columns=tuple(replace(column, may_be_missing=True) for column in self.columns)
        )

    def within(self, outer: Scope | None) -> Scope:
        return replace(self, outer=outer)

    def of_relation(self, qualifier: Sequence[str]) -> list[int]:
        """The positions of the columns of ``qualifier``, in the order of its relation. Raises
        ``AmbiguousRelation``."""
        return sorted(self._members(qualifier), key=lambda i: self.columns[i].position)

    def _members(self, qualifier: Sequence[str]) -> list[int]:
        """The positions of the columns of ``qualifier``: a relation of the query's own FROM hides
        one of that name around it. Raises ``AmbiguousRelation`` if relations of several schemas have
        that name in one FROM."""
        indexes = [i for i, column in enumerate(self.columns) if column.belongs_to(qualifier)]
        inner = [i for i in indexes if not self.columns[i].is_around]
        if len({self.columns[i].qualified for i in inner}) > 1:
            raise AmbiguousRelation(".".join(qualifier))
        return inner or indexes

    def row_of(self, qualifier: Sequence[str]) -> list[tuple[ScopeColumn, ColumnRef | OuterRef]]:
        """The columns of the relation ``qualifier`` in its order, in this scope or an outer one;
        empty if there is none."""
        indexes = self.of_relation(qualifier)
        if indexes or self.outer is None:
            return [(self.columns[i].used, ColumnRef(i, self.columns[i].type)) for i in indexes]
        columns = self.outer.columns
        return [
            (columns[i].used, OuterRef(i, columns[i].type))
            for i in self.outer.of_relation(qualifier)
        ]

    def find(self, name: str, qualifier: Sequence[str] = ()) -> int | None:
        """The position of the only column of this name, or None. Raises ``AmbiguousColumn``,
        ``AmbiguousRelation``."""
        if qualifier:
            indexes = [i for i in self._members(qualifier) if self.columns[i].name == name]
        else:
            indexes = [
                i
                for i, column in enumerate(self.columns)
                if column.name == name and not column.is_merged_away
            ]
        if not indexes and not qualifier:
            indexes = [
                i
                for i, column in enumerate(self.columns)
                if column.is_value and column.relation == name
            ]
        indexes = [i for i in indexes if not self.columns[i].is_around] or indexes
        if len(indexes) > 1:
            raise AmbiguousColumn(".".join([*qualifier, name]))
        return indexes[0] if indexes else None

    def resolve(self, name: str, qualifier: Sequence[str] = ()) -> ColumnRef | OuterRef:
        """The column, in this scope or an outer one. Raises ``UnknownColumn``, ``NotInFromClause``,
        ``AmbiguousColumn``, ``AmbiguousRelation``."""
        index = self.find(name, qualifier)
        if index is not None:
            return ColumnRef(index, self.columns[index].used.type)
        is_known = bool(qualifier) and self._has_relation(qualifier)
        if self.outer is not None and not is_known:
            if (index := self.outer.find(name, qualifier)) is not None:
                return OuterRef(index, self.outer.columns[index].used.type)
            is_known = self.outer._has_relation(qualifier)
        if qualifier and not is_known:
            written = ".".join(qualifier)
            raise NotInFromClause(written, hint=nearest(written, self.relations))
        raise UnknownColumn(
            name,
            qualifier=qualifier[-1] if qualifier else "",
            hint=self._suggestion(name, qualifier),
        )

    def _has_relation(self, qualifier: Sequence[str]) -> bool:
        return any(column.belongs_to(qualifier) for column in self.columns)

    def relation_of(self, qualifier: Sequence[str]) -> QualifiedName | None:
        """The relation of the catalog that ``qualifier`` means, or that is the only one; None if
        there is none."""
        named = {
            column.origin
            for column in self.columns
            if not qualifier or column.belongs_to(qualifier)
        }
        return named.pop() if len(named) == 1 else None

    def _suggestion(self, name: str, qualifier: Sequence[str]) -> str | None:
        among = [column for column in self.columns if not qualifier or column.belongs_to(qualifier)]
        return nearest(name, sorted({column.name for column in among}))


@dataclass(frozen=True, slots=True)
class ScopedPlan:
    """A plan with the names of its columns; both have the same positions."""

    plan: Plan
    scope: Scope

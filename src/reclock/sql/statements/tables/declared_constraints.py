"""The constraints of tables: checked when they are declared, and kept in the definition as enforced
or not.

The columns of a primary key are NOT NULL, which is always enforced. A foreign key refers to its
target by name. What a constraint that is not enforced names is looked up when the table is created
and never again, so a definition stays valid whatever becomes of the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from sqlglot import exp

from reclock.algebra.relations import RelationDesc, TypeName
from reclock.errors import (
    InvalidConstraint,
    UnknownColumn,
    UnsupportedSql,
    WrongObjectType,
)
from reclock.plan.scalars import Call, Scalar
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, nearest, parts
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.queries.check_conditions import planned_condition
from reclock.sql.queries.index_keys import included, index_key, index_predicate
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.output_names import UNNAMED, output_name
from reclock.sql.queries.planned import TypedExpr
from reclock.sql.queries.scope import Scope
from reclock.sql.statements.sources.syntax import CreateSourceStatement
from reclock.sql.statements.tables.constraints_syntax import TableConstraint, expressions_of
from reclock.sql.statements.tables.syntax import CreateTableStatement
from reclock.sql.syntax.index_elements import key_orders

_NAME_ENDINGS = {
    "PRIMARY KEY": "pkey",
    "UNIQUE": "key",
    "UNIQUE INDEX": "idx",
    "FOREIGN KEY": "fkey",
    "CHECK": "check",
}


_SETTING = ("SET NULL", "SET DEFAULT")


def key_columns(node: CreateTableStatement) -> tuple[str, ...]:
    """The columns of the primary key: none if the table has none."""
    for constraint in node.args.get("constraints") or ():
        if constraint.args["kind"] == ConstraintKind.PRIMARY_KEY:
            return tuple(fold(column) for column in constraint.args["columns"])
    return ()


def declared_constraints(
    node: CreateTableStatement | CreateSourceStatement,
) -> tuple[Constraint, ...]:
    """The constraints of a definition, which are in the form that is kept: named, and so on."""
    return tuple(_declared(constraint) for constraint in node.args.get("constraints") or ())


def _declared(node: TableConstraint) -> Constraint:
    arguments, target, condition = node.args, node.args.get("target"), node.args.get("check")
    columns = tuple(fold(column) for column in arguments.get("columns") or ())
    computed = expressions_of(node)
    if computed:
        used = (column for part in computed for column in part.find_all(exp.Column, bfs=False))
        columns = tuple(dict.fromkeys(fold(column.this) for column in used))
    return Constraint(
        fold(node.this),
        ConstraintKind(arguments["kind"]),
        columns,
        bool(arguments.get("are_nulls_equal")),
        bool(arguments.get("is_index")),
        parts(target) if target is not None else (),
        tuple(fold(column) for column in arguments.get("target_columns") or ()),
        arguments.get("match") or "SIMPLE",
        arguments.get("on_update") or "NO ACTION",
        arguments.get("on_delete") or "NO ACTION",
        is_deferrable=bool(arguments.get("deferrable")),
        is_deferred="DEFERRED" in (arguments.get("deferrable") or ""),
        condition=condition,
        keys=tuple(arguments.get("keys") or ()),
        predicate=arguments.get("where"),
        is_enforced=not arguments.get("is_not_enforced"),
        is_valid=not arguments.get("is_not_valid"),
        comment=node.text("comment") or None,
        orders=key_orders(node, len(arguments.get("keys") or columns)),
        included=tuple(fold(column) for column in arguments.get("include") or ()),
    )


def declare_constraints(
    node: CreateTableStatement,
    name: QualifiedName,
    desc: RelationDesc,
    catalog: PlannerCatalog,
    session: SessionNames,
    existing: Sequence[TableConstraint] = (),
) -> tuple[str, ...]:
    """Bring the constraints of ``node`` into the form that is kept: named, unlike the ``existing``,
    with full names, and those that cannot be enforced as NOT ENFORCED. Returns the notices about
    these.

    Raises for constraints that could not hold of the table: those that PostgreSQL refuses, and keys
    of intervals and arrays.
    """
    constraints: list[TableConstraint] = node.args.get("constraints") or []
    every = [*existing, *constraints]
    if sum(constraint.args["kind"] == "PRIMARY KEY" for constraint in every) > 1:
        raise InvalidConstraint(f'multiple primary keys for table "{name.item}" are not allowed')
    computed = {fold(column.this) for column in node.args["columns"] if column.args.get("computed")}
    for constraint in constraints:
        _check_columns(constraint, desc)
        _check_actions(constraint, computed)
    name_constraints(constraints, name.item, existing)
    assumed = []
    for constraint in constraints:
        is_enforceable = True
        if constraint.args["kind"] == "CHECK":
            is_enforceable = not _declare_check(constraint, name, desc)
        elif constraint.args["kind"] == "UNIQUE INDEX":
            _declare_unique_index(constraint, name, desc)
        elif constraint.args["kind"] == "FOREIGN KEY":
            target = _target_of(constraint, every, name, desc, catalog, session)
            is_enforceable = _declare_foreign_key(constraint, target, name, desc)
        if not is_enforceable and not constraint.args.get("is_not_enforced"):
            assumed.append(constraint)
            constraint.set("is_not_enforced", True)
    key = key_columns(node)
    for column in node.args["columns"]:
        if fold(column.this) in key:
            column.set("not_null", True)
    if not assumed:
        return ()
    names = ", ".join(f'"{fold(constraint.this)}"' for constraint in assumed)
    plural = len(assumed) > 1
    return (
        (
            f'constraint{"s" if plural else ""} {names} of table "{name.item}" '
            f"{'are' if plural else 'is'} not enforced"
        ),
    )


def _check_columns(constraint: TableConstraint, desc: RelationDesc) -> None:
    names = [fold(column) for column in constraint.args.get("columns") or ()]
    is_key = constraint.args["kind"] in ("PRIMARY KEY", "UNIQUE")
    _check_exist(names, desc, is_key=is_key)
    included(constraint.args.get("include") or (), desc)
    for i, column in enumerate(names):
        if column in names[:i] and constraint.args["kind"] != "FOREIGN KEY":
            kind = constraint.args["kind"].lower()
            raise InvalidConstraint(
                f'column "{column}" appears twice in {kind} constraint', sqlstate="42701"
            )
        type = desc.columns[desc.names.index(column)].type
        if not type.is_keyed and not constraint.args.get("is_not_enforced"):
            raise UnsupportedSql(
                f'column "{column}" has type {type}, which is not supported in keys',
                hint="declare the constraint NOT ENFORCED",
            )


def _check_actions(constraint: TableConstraint, computed: Set[str]) -> None:
    """Raises ``InvalidConstraint`` for an action that would set a computed column."""
    if computed.isdisjoint(map(fold, constraint.args.get("columns") or ())):
        return
    setting = {"ON UPDATE": ("CASCADE", *_SETTING), "ON DELETE": _SETTING}
    for event, actions in setting.items():
        if constraint.args.get(event.replace(" ", "_").lower()) in actions:
            raise InvalidConstraint(
                f"invalid {event} action for foreign key constraint containing generated column",
                sqlstate="42601",
            )


def _check_exist(names: Sequence[str], desc: RelationDesc, *, is_key: bool) -> None:
    place = "named in key" if is_key else "referenced in foreign key constraint"
    for name in names:
        if name not in desc.names:
            wording = f'column "{name}" {place} does not exist'
            raise UnknownColumn(name, wording=wording, hint=nearest(name, desc.names))


def _declare_check(constraint: TableConstraint, name: QualifiedName, desc: RelationDesc) -> bool:
    """The kept condition names columns alone, so that it stays valid when the table is renamed.

    Returns whether it asks about the session: such a condition is not enforced.
    """
    condition = constraint.args["check"]
    asks = _InCheck(NO_PARAMETERS, "it may use the columns of the row")
    planned_condition(condition, Scope.of(desc, name.item, name), asks)
    remove_qualifiers(condition)
    planned_condition(condition, Scope.of(desc, None), asks)
    return bool(asks.calls)


def _declare_unique_index(
    constraint: TableConstraint, name: QualifiedName, desc: RelationDesc
) -> None:
    """The kept expressions name columns alone, as those of a CHECK do."""
    if constraint.args.get("where") is not None:
        index_predicate(constraint.args["where"], desc, name)
    for part in index_key(constraint.args["keys"], desc, name):
        if not part.column.type.is_keyed:
            raise UnsupportedSql(
                f"{part.sql} has type {part.column.type}, which is not supported in keys"
            )
    for expression in expressions_of(constraint):
        remove_qualifiers(expression)


def remove_qualifiers(expression: exp.Expr) -> None:
    """Let the expression name columns alone, so that it stays valid when the relation is renamed."""
    for column in expression.find_all(exp.Column):
        for qualifier in ("table", "db", "catalog"):
            column.set(qualifier, None)


def check_condition(constraint: Constraint, desc: RelationDesc) -> Scalar:
    """The condition of an enforced CHECK, as a scalar over the columns of the table."""
    subqueries = NoSubqueries(NO_PARAMETERS, "it may use the columns of the row")
    return planned_condition(constraint.condition, Scope.of(desc, None), subqueries)


@dataclass(frozen=True, slots=True)
class _InCheck(NoSubqueries):
    """A condition may ask about the session, as in PostgreSQL."""

    calls: list[Call[TypedExpr]] = field(default_factory=list)

    def about_session(self, call: Call[TypedExpr]) -> TypedExpr:
        self.calls.append(call)
        return call


@dataclass(frozen=True, slots=True)
class _Target:
    """The table that a foreign key refers to, and its keys, the primary key first: the columns, and
    whether it is enforced."""

    name: QualifiedName
    desc: RelationDesc
    primary_key: tuple[str, ...]
    keys: Sequence[tuple[tuple[str, ...], bool]]


def _target_of(
    constraint: TableConstraint,
    constraints: Sequence[TableConstraint],
    name: QualifiedName,
    desc: RelationDesc,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> _Target:
    """``constraints`` are all constraints of the table, which may refer to itself."""
    written = parts(constraint.args["target"])
    entry = catalog.find(written, session)
    is_itself = entry is None and catalog.locate(written, session) == name
    if is_itself or written == (name.item,) or (entry is not None and entry.name == name):
        keys = [key for key in constraints if key.args["kind"] in ("PRIMARY KEY", "UNIQUE")]
        primary_key = (_columns_of(key) for key in keys if key.args["kind"] == "PRIMARY KEY")
        enforced = [(_columns_of(key), not key.args.get("is_not_enforced")) for key in keys]
        return _Target(name, desc, next(primary_key, ()), enforced)
    target = catalog.resolve(written, session)
    if target.table is None:
        raise WrongObjectType(str(target.name), "table", target.type.value)
    declared = [(key.columns, key.is_enforced) for key in target.table.constraints if key.is_key]
    return _Target(target.name, target.desc, target.table.primary_key, declared)


def _declare_foreign_key(
    constraint: TableConstraint, target: _Target, name: QualifiedName, desc: RelationDesc
) -> bool:
    """Complete the constraint. Returns whether it can be enforced: not in temporary tables, and not
    if the key that it refers to is not."""
    if target.name.is_temporary != name.is_temporary:
        kind = "temporary" if name.is_temporary else "permanent"
        raise InvalidConstraint(f"constraints on {kind} tables may reference only {kind} tables")
    columns = tuple(fold(column) for column in constraint.args.get("target_columns") or ())
    columns = columns or target.primary_key
    if not columns:
        raise InvalidConstraint(
            f'there is no primary key for referenced table "{target.name.item}"', sqlstate="42704"
        )
    _check_exist(columns, target.desc, is_key=False)
    if len(columns) != len(constraint.args["columns"]):
        message = "number of referencing and referenced columns for foreign key disagree"
        raise InvalidConstraint(message, sqlstate="42830")
    constraint.set("target", target.name.to_table())
    constraint.set("target_columns", [identifier(column) for column in columns])
    if constraint.args.get("is_not_enforced"):
        return False
    matching = [is_enforced for key, is_enforced in target.keys if sorted(key) == sorted(columns)]
    if not matching:
        raise InvalidConstraint(
            "there is no unique constraint matching given keys for referenced table "
            f'"{target.name.item}"',
            sqlstate="42830",
        )
    check_comparable(constraint, desc, columns, target.desc)
    return any(matching) and not name.is_temporary


def _columns_of(constraint: TableConstraint) -> tuple[str, ...]:
    return tuple(fold(column) for column in constraint.args["columns"])


def check_comparable(
    constraint: TableConstraint,
    desc: RelationDesc,
    target_columns: Sequence[str],
    target: RelationDesc,
) -> None:
    """Raises ``InvalidConstraint`` unless equal values of a foreign key's columns have one form:
    those of one type, and integers of any size."""
    columns = _columns_of(constraint)
    for column, other in zip(columns, target_columns, strict=True):
        left, right = (
            desc.columns[desc.names.index(column)],
            target.columns[target.names.index(other)],
        )
        is_same = left.type == right.type or left.type.name is right.type.name is TypeName.BPCHAR
        if not is_same and not (left.type.is_integer and right.type.is_integer):
            raise InvalidConstraint(
                f'foreign key constraint "{fold(constraint.this)}" cannot be implemented',
                detail=(
                    f'Key columns "{column}" and "{other}" are of incompatible types: '
                    f"{left.sql_type} and {right.sql_type}."
                ),
                sqlstate="42804",
            )


def name_constraints(
    constraints: Sequence[TableConstraint], table: str, existing: Sequence[TableConstraint]
) -> None:
    """Give names to those without, as PostgreSQL does: of the table, the columns and the kind, and
    a number where one is taken."""
    used_names = {fold(constraint.this) for constraint in existing}
    for constraint in constraints:
        if constraint.this:
            name = fold(constraint.this)
            if name in used_names:
                raise InvalidConstraint(
                    f'constraint "{name}" for relation "{table}" already exists', sqlstate="42710"
                )
            used_names.add(name)
    for constraint in constraints:
        if not constraint.this:
            name = next(
                name for name in _generated_names(constraint, table) if name not in used_names
            )
            used_names.add(name)
            constraint.set("this", identifier(name))


def _generated_names(constraint: TableConstraint, table: str) -> Iterator[str]:
    kind = constraint.args["kind"]
    columns = [fold(column) for column in constraint.args.get("columns") or ()]
    if kind == "PRIMARY KEY":
        columns = []
    elif kind == "UNIQUE INDEX":
        names = [output_name(key) for key in constraint.args["keys"]]
        columns = ["expr" if name == UNNAMED else name for name in names]
    if kind in ("UNIQUE", "UNIQUE INDEX"):
        columns += [fold(column) for column in constraint.args.get("include") or ()]
    elif kind == "CHECK":
        used = {fold(column.this) for column in constraint.args["check"].find_all(exp.Column)}
        columns = sorted(used) if len(used) == 1 else []
    ending = _NAME_ENDINGS["UNIQUE INDEX" if constraint.args.get("is_index") else kind]
    base = "_".join([table, *columns, ending])
    yield base
    number = 0
    while True:
        number += 1
        yield f"{base}{number}"

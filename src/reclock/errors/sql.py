"""Statements: their syntax, names, types and clauses, and the limits on a query."""

from __future__ import annotations

from reclock.errors.functions_elsewhere import WRITTEN_INSTEAD
from reclock.errors.names import item_name, quoted_name, with_article
from reclock.errors.root import ReclockError


class SqlSyntaxError(ReclockError):
    """The text is not a valid statement."""

    sqlstate = "42601"

    def __init__(
        self, message: str, *, position: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.position = position


class SubqueryWidth(SqlSyntaxError):
    """A subquery has another number of columns than its place takes."""


class UnequalRows(SqlSyntaxError):
    """Two rows that are compared have different numbers of values."""

    def __init__(self) -> None:
        super().__init__("unequal number of entries in row expressions")


class UnsupportedSql(ReclockError):
    """The statement is valid SQL, but Reclock does not support it."""

    sqlstate = "0A000"


class NestedTooDeeply(UnsupportedSql):
    """The statement, or the changes of its view, have more levels than can be planned or run."""

    def __init__(self) -> None:
        super().__init__("the statement is nested too deeply")


class ExperimentalFeature(ReclockError):
    """The statement needs experimental mode, which is off in this environment."""

    sqlstate = "0A000"

    def __init__(self, feature: str) -> None:
        super().__init__(
            f"{feature} requires experimental mode",
            hint="the setting experimental_mode turns it on",
        )
        self.feature = feature


class UnknownRelation(ReclockError):
    """The catalog has no relation of that name. The code is `42704` for an index that would be
    dropped."""

    sqlstate = "42P01"
    wording = "{1} {0} does not exist"

    def __init__(self, name: str, *, kind: str = "relation", hint: str | None = None) -> None:
        super().__init__(self.wording.format(quoted_name(name), kind), hint=hint)
        self.name = name
        if kind == "index":
            self.sqlstate = "42704"


class NotInFromClause(UnknownRelation):
    """A name in front of a column is none of a relation in FROM."""

    wording = "missing FROM-clause entry for table {}"


class ObjectQuarantined(ReclockError):
    """The catalog's definition of an object cannot be planned. The object can be shown and dropped.
    Other objects are not affected."""

    sqlstate = "XX001"

    def __init__(self, name: str, id: str, *, reason: str) -> None:
        super().__init__(
            f"the definition of {quoted_name(name)} cannot be planned",
            detail=reason,
            hint=(
                'DROP it, or correct it with "reclock catalog edit"; see '
                "mz_internal.mz_broken_objects"
            ),
        )
        self.name, self.id, self.reason = name, id, reason


class UnknownColumn(ReclockError):
    """No column in scope has that name. ``qualifier`` is the relation's name that stands in front;
    ``relation`` is the only one whose columns may be named."""

    sqlstate = "42703"

    def __init__(
        self,
        name: str,
        *,
        qualifier: str = "",
        relation: str = "",
        wording: str = "",
        hint: str | None = None,
    ) -> None:
        written = f"{qualifier}.{name}" if qualifier else quoted_name(name)
        of = f" of relation {quoted_name(relation)}" if relation else ""
        super().__init__(wording or f"column {written}{of} does not exist", hint=hint)
        self.name = name


class AmbiguousRelation(ReclockError):
    """Several relations in scope have that name."""

    sqlstate = "42P09"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"table reference {quoted_name(name)} is ambiguous",
            hint="put the schema in front, or give the relations aliases",
        )


class AmbiguousColumn(ReclockError):
    """Several columns in scope have that name."""

    sqlstate = "42702"

    def __init__(self, name: str, clause: str | None = None) -> None:
        hint = (
            "put the relation's name in front"
            if clause is None
            else "several columns of the select list have that name"
        )
        super().__init__(
            f"{clause or 'column reference'} {quoted_name(name)} is ambiguous", hint=hint
        )
        self.name = name


class AmbiguousFunction(ReclockError):
    """Several functions or operators of that name accept an argument of unknown type, and none is
    the better choice. Or a statement names one of several functions without its types."""

    sqlstate = "42725"

    def __init__(
        self, name: str, argument_types: list[str] | None, *, is_operator: bool = False
    ) -> None:
        hint = "cast the arguments to the types that are meant"
        if argument_types is None:
            written = f"function name {quoted_name(name)} is not unique"
            hint = "write the types of its parameters in parentheses after it"
        elif is_operator:
            operands = (
                f" {name} ".join(argument_types)
                if len(argument_types) > 1
                else f"{name} {argument_types[0]}"
            )
            written = f"operator is not unique: {operands}"
        else:
            written = f"function {name}({', '.join(argument_types)}) is not unique"
        super().__init__(written, hint=hint)
        self.name, self.argument_types = name, argument_types


class UnknownFunction(ReclockError):
    """No function of that name takes arguments of these types."""

    sqlstate = "42883"

    def __init__(
        self, name: str, argument_types: list[str] | None, *, hint: str | None = None
    ) -> None:
        """``argument_types`` is None where a function is named without any."""
        if hint is None:
            instead = WRITTEN_INSTEAD.get(name)
            hint = (
                f"PostgreSQL's way of writing it: {instead}"
                if instead is not None
                else "no function matches the given name and argument types; you might need to add "
                "explicit casts"
            )
        super().__init__(
            f"could not find a function named {quoted_name(name)}"
            if argument_types is None
            else f"function {name}({', '.join(argument_types)}) does not exist",
            hint=hint,
        )
        self.name, self.argument_types = name, argument_types or []


class InvalidFunction(ReclockError):
    """A function cannot be defined in this way."""

    sqlstate = "42P13"


class InvalidEnumDefinition(ReclockError):
    """The labels of an enum are not the definition of one."""

    sqlstate = "42710"

    def __init__(
        self, message: str, *, detail: str | None = None, sqlstate: str | None = None
    ) -> None:
        super().__init__(message, detail=detail)
        self.sqlstate = sqlstate or self.sqlstate


class UnknownEnumLabel(ReclockError):
    """ALTER TYPE names a label that the enum does not have."""

    sqlstate = "22023"

    def __init__(self, label: str) -> None:
        super().__init__(f'"{label}" is not an existing enum label')
        self.label = label


class UnknownOperator(UnknownFunction):
    """No operator of that name takes operands of these types."""

    def __init__(self, name: str, argument_types: list[str]) -> None:
        super().__init__(name, argument_types)
        operands = (
            f" {name} ".join(argument_types)
            if len(argument_types) > 1
            else f"{name} {argument_types[0]}"
        )
        self.args = (f"operator does not exist: {operands}",)
        self.message = self.args[0]
        self.hint = (
            "no operator matches the given name and argument types; you might need to add "
            "explicit casts"
        )


class ArrayRequired(ReclockError):
    """ANY or ALL stands before a value that is no array."""

    sqlstate = "42809"

    def __init__(self) -> None:
        super().__init__("op ANY/ALL (array) requires array on right side")


class TypeMismatch(ReclockError):
    """An expression has a type that its place does not accept."""

    sqlstate = "42804"


class CannotCast(TypeMismatch):
    """No cast leads from the one type to the other."""

    sqlstate = "42846"

    def __init__(self, source: str, target: str, *, detail: str | None = None) -> None:
        super().__init__(f"cannot cast type {source} to {target}", detail=detail)
        self.source, self.target = source, target


class WithinGroupRequired(ReclockError):
    """An ordered-set aggregate is called without ``WITHIN GROUP (ORDER BY …)``."""

    sqlstate = "42809"

    def __init__(self, name: str) -> None:
        super().__init__(f"WITHIN GROUP is required for ordered-set aggregate {name}")
        self.name = name


class DuplicateColumn(ReclockError):
    """A relation would have two columns with the same name, or a stored one two names that differ
    in case alone."""

    sqlstate = "42701"

    def __init__(self, name: str, *, first: str | None = None) -> None:
        super().__init__(
            f"column {quoted_name(name)} specified more than once",
            detail=None
            if first in (None, name)
            else f'To engines that read the lake, "{first}" is the same name.',
            hint="give each column a name of its own with AS",
        )
        self.name = name


class DuplicateAlias(ReclockError):
    """Two relations of one FROM, or two queries of one WITH, have the same name."""

    sqlstate = "42712"

    def __init__(self, name: str, what: str = "table name") -> None:
        super().__init__(
            f"{what} {quoted_name(name)} specified more than once",
            hint="give one of them another name",
        )
        self.name = name


class InvalidColumnReference(ReclockError):
    """ORDER BY, GROUP BY or DISTINCT ON names a position that is not in the select list, or is not
    allowed."""

    sqlstate = "42P10"


class InvalidConstraint(ReclockError):
    """A constraint in CREATE TABLE does not fit the table. The SQLSTATE is PostgreSQL's."""

    sqlstate = "42P16"


class ReservedName(ReclockError):
    """The name is reserved for Reclock."""

    sqlstate = "42939"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__(f"the name {quoted_name(name)} is reserved", hint=hint)
        self.name = name


class WrongObjectType(ReclockError):
    """The object exists, but is of another kind than the statement needs."""

    sqlstate = "42809"

    def __init__(self, name: str, expected: str, actual: str, *, hint: str | None = None) -> None:
        super().__init__(
            f'"{item_name(name)}" is not {with_article(expected)}',
            detail=f"{quoted_name(name)} is {with_article(actual)}",
            hint=hint,
        )
        self.name, self.expected, self.actual = name, expected, actual


class OverRequired(ReclockError):
    """A window function is called without an OVER clause."""

    sqlstate = "42809"

    def __init__(self, name: str) -> None:
        super().__init__(f"window function {name} requires an OVER clause")
        self.name = name


class NotAnAggregate(ReclockError):
    """A call of a plain function has a clause that only aggregates and window functions take."""

    sqlstate = "42809"

    def __init__(self, clause: str, name: str, message: str = "") -> None:
        window = " a window function nor" if clause == "OVER" else ""
        super().__init__(
            message or f"{clause} specified, but {name} is not{window} an aggregate function"
        )
        self.clause, self.name = clause, name

    @classmethod
    def of_count(cls) -> NotAnAggregate:
        """``count()``, which looks like a plain function."""
        message = "count(*) must be used to call a parameterless aggregate function"
        return cls("", "count", message)


class NotComposite(ReclockError):
    """A field is taken of a value that is no record."""

    sqlstate = "42809"

    def __init__(self, type: str, field: str = "") -> None:
        super().__init__(
            f"column notation .{field} applied to type {type}, which is not a composite type"
            if field
            else f"type {type} is not composite",
            hint="only records have fields",
        )
        self.type = type


class PseudoTypeColumn(ReclockError):
    """A column that would be stored has a type that only values of queries have."""

    sqlstate = "42P16"

    def __init__(self, name: str, type: str) -> None:
        super().__init__(
            f"column {quoted_name(name)} has pseudo-type {type}",
            hint="make columns of the record's fields, as in (r).*, or cast it to text or jsonb",
        )
        self.name, self.type = name, type


class AggregateNotAllowed(ReclockError):
    """An aggregate function is used where rows are not grouped yet, or inside another aggregate."""

    sqlstate = "42803"


class GroupingError(ReclockError):
    """A column is neither grouped nor aggregated."""

    sqlstate = "42803"

    def __init__(self, column: str) -> None:
        super().__init__(
            f'column "{column}" must appear in the GROUP BY clause or be used in an '
            "aggregate function"
        )
        self.column = column


class InvalidGrouping(ReclockError):
    """``GROUPING`` has an argument that is no key, or there are too many combinations of keys."""

    sqlstate = "42803"

    def __init__(self, message: str, *, sqlstate: str = sqlstate) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class InvalidWindow(ReclockError):
    """The frame of a window function begins after it ends, a window is defined twice, or stands
    where none may."""

    sqlstate = "42P20"


class InvalidFrameOffset(ReclockError):
    """An offset of a window's frame, or a number of a window function, is NULL or too small. The
    SQLSTATE is PostgreSQL's."""

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class InvalidRecursion(ReclockError):
    """A query of ``WITH RECURSIVE`` reads itself where it may not."""

    sqlstate = "42P19"


class InvalidOption(ReclockError):
    """A statement's option or clause has a wrong name or value."""

    sqlstate = "22023"


RECURSION_HINT = (
    "it may never end; SET max_recursion_iterations raises the limit of a query, but not of a "
    "view; WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT …) returns the rows at its limit"
)


class OutOfMemory(ReclockError):
    """A query needs more memory, or more space to spill, than its engine may use."""

    sqlstate = "53200"

    def __init__(self, *, detail: str | None = None) -> None:
        hint = (
            "select fewer rows, raise query_memory or query_spill, or lower spark_threshold_bytes "
            "to run it on Spark"
        )
        super().__init__("out of memory", detail=detail, hint=hint)


class ResultTooLarge(ReclockError):
    """A query returns more bytes than ``max_result_size`` allows."""

    sqlstate = "53000"

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(
            f"result exceeds max size of {limit_bytes} bytes",
            hint="select fewer rows or columns, or SET max_result_size to more, or to 0: no limit",
        )


class QueryCanceled(ReclockError):
    """A user or client cancelled a running query."""

    sqlstate = "57014"

    def __init__(self) -> None:
        super().__init__("canceling statement due to user request")

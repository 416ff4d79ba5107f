"""What is wrong with a statement, and what becomes of one."""

from __future__ import annotations

from reclock.errors.root import ReclockError


class SqlSyntaxError(ReclockError):
    """The text is not a valid statement. ``position`` counts characters from 1."""

    sqlstate = "42601"

    def __init__(
        self, message: str, *, position: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.position = position


class UnsupportedSql(ReclockError):
    """The statement is valid SQL, but Reclock does not support it."""

    sqlstate = "0A000"


class ExperimentalFeature(ReclockError):
    """The statement needs experimental mode, which is off in this environment."""

    sqlstate = "0A000"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} requires experimental mode", hint="the setting experimental_mode turns it on"
        )
        self.what = what


class UnknownRelation(ReclockError):
    """The catalog has no relation of that name."""

    sqlstate = "42P01"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__(f'unknown relation "{name}"', hint=hint)
        self.name = name


class ObjectQuarantined(ReclockError):
    """The catalog's definition of an object cannot be planned. The object can be shown and dropped.
    Other objects are not affected."""

    sqlstate = "XX001"

    def __init__(self, name: str, id: str, *, reason: str) -> None:
        super().__init__(
            f'the definition of "{name}" cannot be planned',
            detail=reason,
            hint=(
                'DROP it, or correct it with "reclock catalog edit"; see '
                "mz_internal.mz_broken_objects"
            ),
        )
        self.name, self.id, self.reason = name, id, reason


class UnknownColumn(ReclockError):
    """No column in scope has that name."""

    sqlstate = "42703"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__(f'column "{name}" does not exist', hint=hint)
        self.name = name


class AmbiguousColumn(ReclockError):
    """Several columns in scope have that name."""

    sqlstate = "42702"

    def __init__(self, name: str, clause: str | None = None) -> None:
        hint = (
            "put the relation's name in front"
            if clause is None
            else "several columns of the select list have that name"
        )
        super().__init__(f'{clause or "column reference"} "{name}" is ambiguous', hint=hint)
        self.name = name


class AmbiguousFunction(ReclockError):
    """Several functions or operators of that name accept an argument of unknown type, and none is
    the better choice."""

    sqlstate = "42725"

    def __init__(self, name: str, argument_types: list[str], *, is_operator: bool = False) -> None:
        if is_operator:
            operands = (
                f" {name} ".join(argument_types)
                if len(argument_types) > 1
                else f"{name} {argument_types[0]}"
            )
            written = f"operator is not unique: {operands}"
        else:
            written = f"function {name}({', '.join(argument_types)}) is not unique"
        super().__init__(written, hint="cast the arguments to the types that are meant")
        self.name, self.argument_types = name, argument_types


class UnknownFunction(ReclockError):
    """No function of that name takes arguments of these types."""

    sqlstate = "42883"

    def __init__(self, name: str, argument_types: list[str], *, hint: str | None = None) -> None:
        super().__init__(
            f"function {name}({', '.join(argument_types)}) does not exist",
            hint=hint
            or (
                "no function matches the given name and argument types; you might need to "
                "add explicit casts"
            ),
        )
        self.name, self.argument_types = name, argument_types


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


class TypeMismatch(ReclockError):
    """An expression has a type that its place does not accept."""

    sqlstate = "42804"


class CannotCast(TypeMismatch):
    """No cast leads from the one type to the other."""

    sqlstate = "42846"

    def __init__(self, source: str, target: str) -> None:
        super().__init__(f"cannot cast type {source} to {target}")
        self.source, self.target = source, target


class WithinGroupRequired(ReclockError):
    """An ordered-set aggregate is called without ``WITHIN GROUP (ORDER BY …)``."""

    sqlstate = "42809"

    def __init__(self, name: str) -> None:
        super().__init__(f"WITHIN GROUP is required for ordered-set aggregate {name}")
        self.name = name


class InvalidText(ReclockError):
    """A constant in a statement is not a valid text form of its type."""

    sqlstate = "22P02"

    def __init__(self, type_name: str, text: str, *, hint: str | None = None) -> None:
        super().__init__(f'invalid input syntax for type {type_name}: "{text}"', hint=hint)
        self.type_name, self.text = type_name, text


class InvalidMoment(InvalidText):
    """A constant in a statement is not a valid text form of a date or timestamp."""

    sqlstate = "22007"


class MomentOutOfRange(ReclockError):
    """A constant in a statement has the form of a date or timestamp, but there is no such
    moment."""

    sqlstate = "22008"

    def __init__(self, text: str) -> None:
        super().__init__(f'date/time field value out of range: "{text}"')
        self.text = text


class InvalidInterval(InvalidText):
    """A constant in a statement is not a valid text form of an interval."""

    sqlstate = "22007"


class InvalidJson(ReclockError):
    """A text is not JSON, or is JSON that ``jsonb`` cannot hold."""

    sqlstate = "22P02"

    def __init__(
        self, detail: str | None = None, *, message: str | None = None, sqlstate: str | None = None
    ) -> None:
        super().__init__(message or "invalid input syntax for type json", detail=detail)
        if sqlstate is not None:
            self.sqlstate = sqlstate


class InvalidBinary(ReclockError):
    """A parameter in binary format is not a value of its type."""

    sqlstate = "22P03"

    def __init__(self, type_name: str) -> None:
        super().__init__(f"incorrect binary data format for type {type_name}")
        self.type_name = type_name


class NumberOutOfRange(ReclockError):
    """A number in a statement is larger than its type can hold."""

    sqlstate = "22003"

    def __init__(self, number: str, type_name: str, *, hint: str | None = None) -> None:
        super().__init__(f'value "{number}" is out of range for type {type_name}', hint=hint)
        self.number, self.type_name = number, type_name


class IntervalOutOfRange(ReclockError):
    """A part of an interval in a statement is larger than the type can hold."""

    sqlstate = "22015"

    def __init__(self, text: str) -> None:
        super().__init__(f'interval field value out of range: "{text}"')
        self.text = text


class TextTooLong(ReclockError):
    """A text has more characters than the column that it is assigned to."""

    sqlstate = "22001"

    def __init__(self, type_name: str) -> None:
        super().__init__(f"value too long for type {type_name}")
        self.type_name = type_name


class TooManyDigits(ReclockError):
    """A numeric in a statement has more digits after the decimal point than its place keeps."""

    sqlstate = "22003"

    def __init__(self, number: str, scale: int) -> None:
        super().__init__(
            f"numeric value {number} has more than {scale} digits after the decimal point",
            hint=DIGITS_HINT,
        )
        self.number, self.scale = number, scale


DIGITS_HINT = (
    "round the value, or declare the column with a precision and scale, such as numeric(38, 18)"
)
"""What to do where an unconstrained numeric does not hold all digits of a value."""


class DuplicateColumn(ReclockError):
    """A relation would have two columns with the same name."""

    sqlstate = "42701"

    def __init__(self, name: str) -> None:
        super().__init__(
            f'column "{name}" specified more than once',
            hint="give each column a name of its own with AS",
        )
        self.name = name


class DuplicateAlias(ReclockError):
    """Two relations of one FROM have the same name."""

    sqlstate = "42712"

    def __init__(self, name: str) -> None:
        super().__init__(
            f'table name "{name}" specified more than once',
            hint="give one of them an alias with AS",
        )
        self.name = name


class InvalidColumnReference(ReclockError):
    """ORDER BY, GROUP BY or DISTINCT ON names a position that is not in the select list, or is not
    allowed."""

    sqlstate = "42P10"


class InvalidConstraint(ReclockError):
    """A constraint in CREATE TABLE does not fit the table. The SQLSTATE is PostgreSQL's."""

    sqlstate = "42P16"

    def __init__(self, message: str, *, sqlstate: str = sqlstate) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class ReservedName(ReclockError):
    """The name is reserved for Reclock."""

    sqlstate = "42939"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__(f'the name "{name}" is reserved', hint=hint)
        self.name = name


class WrongObjectType(ReclockError):
    """The object exists, but is of another kind than the statement needs."""

    sqlstate = "42809"

    def __init__(self, name: str, wanted: str, found: str) -> None:
        wanted_one, found_one = (
            f"an {kind}" if kind.startswith("index") else f"a {kind}" for kind in (wanted, found)
        )
        super().__init__(f'"{name}" is not {wanted_one}', detail=f"it is {found_one}")
        self.name, self.wanted, self.found = name, wanted, found


class SystemObjectProtected(ReclockError):
    """System schemas and their relations cannot be changed by a statement."""

    sqlstate = "42501"

    def __init__(self, name: str) -> None:
        super().__init__(f'"{name}" is a system object and cannot be changed')
        self.name = name


class PermissionDenied(ReclockError):
    """The role of the session lacks a privilege, does not own the object, or is not a superuser."""

    sqlstate = "42501"


class InvalidGrant(ReclockError):
    """A GRANT that makes no sense: a privilege that objects of the type do not have, or roles that
    would contain each other."""

    sqlstate = "0LP01"


class InvalidAuthorization(ReclockError):
    """The role for a new session does not exist or may not log in."""

    sqlstate = "28000"


class RoleHasDependents(ReclockError):
    """A role cannot be dropped while it owns something, or privileges name it."""

    sqlstate = "2BP01"

    def __init__(self, name: str, dependents: list[str]) -> None:
        super().__init__(
            f'role "{name}" cannot be dropped because some objects depend on it',
            detail="; ".join(dependents),
            hint="REASSIGN OWNED BY and DROP OWNED BY free a role of what depends on it",
        )
        self.name, self.dependents = name, dependents


class RoleInUse(ReclockError):
    """A session cannot drop its own role, or take from it what would lock everyone out."""

    sqlstate = "55006"


class AggregateNotAllowed(ReclockError):
    """An aggregate function stands where rows are not grouped yet, or inside another aggregate."""

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


class InvalidRecursion(ReclockError):
    """A query of ``WITH RECURSIVE`` reads itself where it may not."""

    sqlstate = "42P19"


class InvalidOption(ReclockError):
    """A statement's option or clause has a wrong name or value."""

    sqlstate = "22023"


class EvaluationError(ReclockError):
    """A query failed on a value of the data (PostgreSQL's SQLSTATE, of class 22), or a recursive
    query did not end (``54000``)."""

    sqlstate = "22000"

    def __init__(
        self,
        message: str,
        *,
        sqlstate: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        if sqlstate is not None:
            self.sqlstate = sqlstate


RECURSION_HINT = (
    "it may never end; SET max_recursion_iterations raises the limit of a query, but not of a view"
)


RECURSION_LIMIT_HINT = (
    "it may never end; RETURN AT RECURSION LIMIT returns the rows that it has then"
)


class OutOfMemory(ReclockError):
    """A query needs more memory, or more space to spill, than its engine may use."""

    sqlstate = "53200"

    def __init__(self, *, detail: str | None = None) -> None:
        hint = (
            "select fewer rows, raise query_memory, or lower spark_threshold_bytes to run it "
            "on Spark"
        )
        super().__init__("out of memory", detail=detail, hint=hint)


class ResultTooLarge(ReclockError):
    """A query returns more bytes than ``max_result_size`` allows."""

    sqlstate = "53000"

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(
            f"result exceeds max size of {limit_bytes} bytes",
            hint=(
                "select fewer rows or columns, or SET max_result_size to more, or to 0 for no limit"
            ),
        )


class QueryCanceled(ReclockError):
    """A user or client cancelled a running query."""

    sqlstate = "57014"

    def __init__(self) -> None:
        super().__init__("canceling statement due to user request")


class UnknownConflictTarget(ReclockError):
    """ON CONFLICT names no key that is enforced. The SQLSTATE is PostgreSQL's."""

    sqlstate = "42P10"

    def __init__(self) -> None:
        super().__init__(
            "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        )


class RowAffectedTwice(ReclockError):
    """An INSERT … ON CONFLICT DO UPDATE has several rows with one key."""

    sqlstate = "21000"

    def __init__(self) -> None:
        super().__init__(
            "ON CONFLICT DO UPDATE command cannot affect row a second time",
            hint=(
                "Ensure that no rows proposed for insertion within the same command have "
                "duplicate constrained values."
            ),
        )


class SequenceExhausted(ReclockError):
    """A sequence that does not cycle has given its last value."""

    sqlstate = "2200H"

    def __init__(self, name: str, *, bound: str, value: int) -> None:
        super().__init__(f'nextval: reached {bound} value of sequence "{name}" ({value})')


class InvalidSequence(ReclockError):
    """The description of a sequence contradicts itself. The SQLSTATE is PostgreSQL's."""

    sqlstate = "22023"

    def __init__(self, message: str, *, hint: str | None = None, sqlstate: str = sqlstate) -> None:
        super().__init__(message, hint=hint)
        self.sqlstate = sqlstate


class SequenceValueUndefined(ReclockError):
    """``currval`` or ``lastval`` before the session called ``nextval``."""

    sqlstate = "55000"

    def __init__(self, name: str | None) -> None:
        super().__init__(
            f'currval of sequence "{name}" is not yet defined in this session'
            if name is not None
            else "lastval is not yet defined in this session"
        )


class GeneratedAlways(ReclockError):
    """A statement gives a value to a column that is GENERATED ALWAYS."""

    sqlstate = "428C9"

    def __init__(self, column: str, *, is_update: bool = False) -> None:
        super().__init__(
            f'column "{column}" can only be updated to DEFAULT'
            if is_update
            else f'cannot insert a non-DEFAULT value into column "{column}"',
            detail=f'Column "{column}" is an identity column defined as GENERATED ALWAYS.',
            hint=None if is_update else "Use OVERRIDING SYSTEM VALUE to override.",
        )

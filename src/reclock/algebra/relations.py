"""Types of rows: scalar types and relation descriptions, as SQL names them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

from reclock.algebra.defined_types import DefinedName, EnumType

TIME_COLUMN = "mz_timestamp"
DIFF_COLUMN = "mz_diff"
RESERVED_COLUMNS = frozenset({TIME_COLUMN, DIFF_COLUMN})
"""Names a user's relation cannot give to a column of its own."""


class TypeName(StrEnum):
    """The kinds of scalar, spelled as PostgreSQL prints them."""

    BOOLEAN = "boolean"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    REAL = "real"
    DOUBLE = "double precision"
    NUMERIC = "numeric"
    TEXT = "text"
    BPCHAR = "character"
    BYTEA = "bytea"
    JSONB = "jsonb"
    UUID = "uuid"
    DATE = "date"
    TIME = "time without time zone"
    TIMESTAMP = "timestamp without time zone"
    TIMESTAMPTZ = "timestamp with time zone"
    INTERVAL = "interval"
    INET = "inet"
    CIDR = "cidr"
    MACADDR = "macaddr"
    INT4RANGE = "int4range"
    INT8RANGE = "int8range"
    NUMRANGE = "numrange"
    DATERANGE = "daterange"
    TSRANGE = "tsrange"
    TSTZRANGE = "tstzrange"
    OID = "oid"
    REGCLASS = "regclass"
    REGNAMESPACE = "regnamespace"
    REGPROC = "regproc"
    REGROLE = "regrole"
    REGTYPE = "regtype"
    ARRAY = "array"
    VECTOR = "vector"
    LIST = "list"
    MAP = "map"
    RECORD = "record"
    ENUM = "enum"


_OBJECT_IDS = frozenset(
    {
        TypeName.OID,
        TypeName.REGCLASS,
        TypeName.REGNAMESPACE,
        TypeName.REGPROC,
        TypeName.REGROLE,
        TypeName.REGTYPE,
    }
)
RANGES = frozenset(
    {
        TypeName.INT4RANGE,
        TypeName.INT8RANGE,
        TypeName.NUMRANGE,
        TypeName.DATERANGE,
        TypeName.TSRANGE,
        TypeName.TSTZRANGE,
    }
)


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A type with its parameters. ``precision`` (1..38), ``scale`` and what follows ``element``
    belong to ``NUMERIC`` alone. An unconstrained numeric is one that was declared without a
    precision, or is computed of such: a value that has more digits after the point than ``scale``
    is an error there, where ``numeric(p, s)`` rounds it.

    ``element`` belongs to ``ARRAY`` and ``VECTOR``. The element of an array of several dimensions
    is an array of one dimension less, so that a type says how many there are: ``integer[][]``.
    Clients know all of them as ``integer[]``, as in PostgreSQL. An array without elements is an
    empty list, whatever its dimensions. Vectors are the arrays of PostgreSQL's own catalog, counted
    from 0 and printed otherwise.

    It also belongs to ``LIST`` and ``MAP``, Materialize's types. The elements of a list may be lists
    of different lengths. Those of a map are records of a key and its value, one for each key, in
    the order of the keys, so that equal maps are equal lists.

    ``fields`` belong to ``RECORD``, and ``enum`` to ``ENUM``, whose values are texts: the labels.
    ``composite`` names the type that a user defined with the fields; other records are anonymous.

    ``length`` belongs to ``BPCHAR``, whose values are texts without blanks at the end: so many
    characters are shown, with blanks. None: the values are shown as they are. An unconstrained one
    was not declared with its length, which follows from the values it is computed of.
    """

    name: TypeName
    precision: int | None = None
    scale: int | None = None
    element: ScalarType | None = None
    is_unconstrained: bool = False
    least_digits: int | None = None
    """The digits after the point that are always printed, where zeros at the end are no part of the
    value. None: ``scale``."""
    is_quotient: bool = False
    """Whether values are printed as PostgreSQL prints quotients: with 16 significant digits or
    more. It has ``least_digits``."""
    integral_digits: int | None = None
    """How many digits before the point values of a quotient have at most, where that is known to be
    fewer than its precision allows."""
    fields: tuple[RecordField, ...] = ()
    enum: EnumType | None = None
    composite: DefinedName | None = None
    length: int | None = None
    is_varchar: bool = field(default=False, compare=False)
    """Of a text, whether SQL calls it ``varchar``. It is the same type to everything but what
    compares it with ``char(n)``: there ``varchar`` is that type too, and ``text`` is not."""
    domain: DefinedName | None = field(default=None, compare=False)
    """The domain that SQL calls the type, whose values are those of the type. It is the same type to
    everything but what names or declares it."""

    def __str__(self) -> str:
        if self.name is TypeName.VECTOR:
            return "int2vector" if self.element == SMALLINT else "oidvector"
        if self.name is TypeName.MAP and self.element is not None:
            return f"map[text=>{self.value}]"
        if self.name is TypeName.LIST and self.element is not None:
            return f"{self.element} list"
        if self.element is not None:
            return f"{self.element}[]"
        if self.enum is not None:
            return self.enum.name
        if self.composite is not None:
            return self.composite.name
        if self.name is TypeName.NUMERIC and not self.is_unconstrained:
            return f"numeric({self.precision},{self.scale})"
        if self.name is TypeName.BPCHAR and not self.is_unconstrained:
            return "bpchar" if self.length is None else f"character({self.length})"
        return self.name.value

    @property
    def unconstrained(self) -> ScalarType:
        """The type without the precision of a numeric or the length of a ``char(n)``, as
        ``pg_typeof`` names it."""
        if self.name is TypeName.MAP and self.element is not None:
            return map_of(self.value.unconstrained)
        element = None if self.element is None else self.element.unconstrained
        is_unconstrained = self.name in (TypeName.NUMERIC, TypeName.BPCHAR)
        return replace(self, element=element, is_unconstrained=is_unconstrained)

    @property
    def without_domain(self) -> ScalarType:
        """The type whose values a domain has; any other type itself."""
        return self if self.domain is None else replace(self, domain=None)

    @property
    def exported(self) -> ScalarType:
        """The type that others know: text for an enum, whose values are labels."""
        if self.name is TypeName.ENUM:
            return TEXT
        return self if self.element is None else replace(self, element=self.element.exported)

    @property
    def value(self) -> ScalarType:
        """The type of the values of a map."""
        assert self.element is not None
        return self.element.fields[1].type

    @property
    def is_array(self) -> bool:
        """Whether its values are arrays or vectors."""
        return self.name in (TypeName.ARRAY, TypeName.VECTOR)

    @property
    def is_list_or_map(self) -> bool:
        """Whether its values are lists or maps."""
        return self.name in (TypeName.LIST, TypeName.MAP)

    @property
    def dimensions(self) -> int:
        """Of an array or a vector; 0 of any other type."""
        if self.element is None or not self.is_array:
            return 0
        return 1 + (self.element.dimensions if self.element.name is TypeName.ARRAY else 0)

    @property
    def base(self) -> ScalarType:
        """Of an array or a vector the type of the elements, whatever the number of dimensions; any
        other type itself."""
        if self.element is None or not self.is_array:
            return self
        return self.element.base if self.element.name is TypeName.ARRAY else self.element

    @property
    def is_integer(self) -> bool:
        return self.name in (TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT)

    @property
    def is_float(self) -> bool:
        return self.name in (TypeName.REAL, TypeName.DOUBLE)

    @property
    def is_number(self) -> bool:
        return self.is_integer or self.is_float or self.name is TypeName.NUMERIC

    @property
    def is_moment(self) -> bool:
        return self.name in (TypeName.DATE, TypeName.TIMESTAMP, TypeName.TIMESTAMPTZ)

    @property
    def is_range(self) -> bool:
        return self.name in RANGES

    @property
    def is_network(self) -> bool:
        return self.name in (TypeName.INET, TypeName.CIDR)

    @property
    def has_order_key(self) -> bool:
        """Whether engines hold its values as texts, which another text puts in SQL's order."""
        return self.is_range or self.is_network or self.name is TypeName.JSONB

    @property
    def is_stored(self) -> bool:
        """Whether a collection can hold its values."""
        if self.is_list_or_map and self.element is not None:
            return self.value.is_stored if self.name is TypeName.MAP else self.element.is_stored
        if self.name is TypeName.RECORD:
            return self.composite is not None
        if self.name is TypeName.ARRAY and self.element is not None:
            return self.base.is_flat or self.base.name in (TypeName.ENUM, TypeName.RECORD)
        return self.is_flat or self.name in (TypeName.INTERVAL, TypeName.ENUM)

    @property
    def is_flat(self) -> bool:
        """Whether its values are no parts of others, and have none, so that sources and sinks can
        have them."""
        return (
            not self.is_nested
            and self.name not in (TypeName.INTERVAL, TypeName.ENUM)
            and (not self.is_object_id or self.name is TypeName.OID)
        )

    @property
    def is_keyed(self) -> bool:
        """Whether a key may have its values: equal ones are stored alike."""
        return self.is_flat or self.name is TypeName.ENUM

    @property
    def is_nested(self) -> bool:
        """Whether its values are arrays, lists, maps or records."""
        return self.element is not None or self.name is TypeName.RECORD

    @property
    def is_of_records(self) -> bool:
        """Whether its values are records, or arrays of records."""
        return self.base.name is TypeName.RECORD

    @property
    def has_intervals(self) -> bool:
        """Whether its values are intervals, or arrays or records with some: equal ones can differ
        in their parts."""
        if self.element is not None:
            return self.element.has_intervals
        return self.name is TypeName.INTERVAL or any(
            field.type.has_intervals for field in self.fields
        )

    @property
    def is_object_id(self) -> bool:
        """Whether its values are numbers of catalog objects, as PostgreSQL's clients know these."""
        return self.name in _OBJECT_IDS


@dataclass(frozen=True, slots=True)
class RecordField:
    """A field of a record. ``limit`` is that of a column, of records that are rows of a relation."""

    name: str
    type: ScalarType
    limit: TextLimit | MomentLimit | None = field(default=None, compare=False)


def enum(type: EnumType) -> ScalarType:
    return ScalarType(TypeName.ENUM, enum=type)


BOOLEAN = ScalarType(TypeName.BOOLEAN)
SMALLINT = ScalarType(TypeName.SMALLINT)
INTEGER = ScalarType(TypeName.INTEGER)
BIGINT = ScalarType(TypeName.BIGINT)
REAL = ScalarType(TypeName.REAL)
DOUBLE = ScalarType(TypeName.DOUBLE)
TEXT = ScalarType(TypeName.TEXT)
VARCHAR = ScalarType(TypeName.TEXT, is_varchar=True)
BPCHAR = ScalarType(TypeName.BPCHAR)
BYTEA = ScalarType(TypeName.BYTEA)
JSONB = ScalarType(TypeName.JSONB)
UUID = ScalarType(TypeName.UUID)
DATE = ScalarType(TypeName.DATE)
TIME = ScalarType(TypeName.TIME)
TIMESTAMP = ScalarType(TypeName.TIMESTAMP)
TIMESTAMPTZ = ScalarType(TypeName.TIMESTAMPTZ)
INTERVAL = ScalarType(TypeName.INTERVAL)
INET = ScalarType(TypeName.INET)
CIDR = ScalarType(TypeName.CIDR)
MACADDR = ScalarType(TypeName.MACADDR)
INT4RANGE = ScalarType(TypeName.INT4RANGE)
INT8RANGE = ScalarType(TypeName.INT8RANGE)
NUMRANGE = ScalarType(TypeName.NUMRANGE)
DATERANGE = ScalarType(TypeName.DATERANGE)
TSRANGE = ScalarType(TypeName.TSRANGE)
TSTZRANGE = ScalarType(TypeName.TSTZRANGE)
OID = ScalarType(TypeName.OID)
REGCLASS = ScalarType(TypeName.REGCLASS)
REGNAMESPACE = ScalarType(TypeName.REGNAMESPACE)
REGPROC = ScalarType(TypeName.REGPROC)
REGROLE = ScalarType(TypeName.REGROLE)
REGTYPE = ScalarType(TypeName.REGTYPE)


MAX_PRECISION = 38
"""The digits of the longest numeric."""


def numeric(precision: int | None = None, scale: int = 9) -> ScalarType:
    """An exact decimal of ``precision`` digits, ``scale`` of them after the point. Without a
    precision it is unconstrained."""
    if precision is None:
        return ScalarType(
            TypeName.NUMERIC, MAX_PRECISION, scale, is_unconstrained=True, least_digits=0
        )
    return ScalarType(TypeName.NUMERIC, precision, scale)


def char(length: int) -> ScalarType:
    """``char(length)``."""
    return ScalarType(TypeName.BPCHAR, length=length)


def array(element: ScalarType, dimensions: int = 1) -> ScalarType:
    """Arrays of ``element``, counted from 1."""
    for _ in range(dimensions):
        element = ScalarType(TypeName.ARRAY, element=element)
    return element


def list_of(element: ScalarType) -> ScalarType:
    """Lists of ``element``."""
    return ScalarType(TypeName.LIST, element=element)


def map_of(value: ScalarType) -> ScalarType:
    """Maps from texts to ``value``."""
    return ScalarType(TypeName.MAP, element=entry(value))


def entry(value: ScalarType) -> ScalarType:
    """Records of a key and its value."""
    return record((RecordField("key", TEXT), RecordField("value", value)))


def record(fields: Iterable[RecordField]) -> ScalarType:
    """Records of these fields. Two records are compared by place, whatever the names."""
    return ScalarType(TypeName.RECORD, fields=tuple(fields))


INT2VECTOR = ScalarType(TypeName.VECTOR, element=SMALLINT)
OIDVECTOR = ScalarType(TypeName.VECTOR, element=OID)


@dataclass(frozen=True, slots=True)
class TextLimit:
    """Of a column that is ``varchar(n)`` or ``name``, or an array of ``varchar(n)``."""

    characters: int
    is_name: bool = False
    """Longer texts are cut to the characters that fit into so many bytes."""
    is_letter: bool = False
    """``"char"``, PostgreSQL's type of a letter in its catalog."""

    @property
    def type(self) -> ScalarType:
        return TEXT if self.is_letter or self.is_name else VARCHAR

    @property
    def type_name(self) -> str:
        """PostgreSQL's short name of the type, without the length."""
        if self.is_letter or self.is_name:
            return "char" if self.is_letter else "name"
        return "varchar"

    def __str__(self) -> str:
        if self.is_letter:
            return '"char"'
        if self.is_name:
            return "name"
        return f"character varying({self.characters})"


@dataclass(frozen=True, slots=True)
class MomentLimit:
    """Of a column that is ``timestamp(p)``, ``timestamptz(p)`` or ``time(p)``: its moments are
    rounded to so many digits after the seconds."""

    digits: int
    type: ScalarType
    is_name: ClassVar[bool] = False
    is_letter: ClassVar[bool] = False

    @property
    def characters(self) -> int:
        """As of a text: how many digits of what is assigned to it stay."""
        return self.digits

    def __str__(self) -> str:
        word, _, rest = str(self.type).partition(" ")
        return f"{word}({self.digits}) {rest}"


NAME = TextLimit(63, is_name=True)
"""PostgreSQL's type of identifiers."""
LETTER = TextLimit(1, is_letter=True)


def cut_name(text: str) -> str:
    """The first characters of ``text``, in as many bytes as a ``name`` has at most."""
    return text.encode()[: NAME.characters].decode(errors="ignore")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: ScalarType
    is_nullable: bool = True
    limit: TextLimit | MomentLimit | None = None
    """How long its texts are at most: what is assigned to it, or comes from upstream, may not be
    longer. Or to how many digits its moments are rounded."""

    @property
    def sql_type(self) -> str:
        """The type as SQL writes it, with the length."""
        if self.type.domain:
            return self.type.domain.name
        return f"{self.limit}{'[]' * self.type.dimensions}" if self.limit else str(self.type)


@dataclass(frozen=True)
class RelationDesc:
    """The columns of a relation in order, without ``mz_timestamp`` and ``mz_diff``. ``key`` names a
    unique key, if known."""

    columns: tuple[Column, ...]
    key: tuple[str, ...] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def types(self) -> tuple[ScalarType, ...]:
        return tuple(column.type for column in self.columns)

    @property
    def exported(self) -> RelationDesc:
        """The columns with the types that others know."""
        columns = tuple(replace(column, type=column.type.exported) for column in self.columns)
        return replace(self, columns=columns)

    @property
    def stored(self) -> RelationDesc:
        """The columns as a collection names them that holds the rows: its updates have a
        ``mz_timestamp`` of their own, so that of a progress relation has another name there."""
        if TIME_COLUMN not in self.names:
            return self
        name, used_names = "bound_at", {name.casefold() for name in self.names}
        while name in used_names:
            name += "_"
        columns = tuple(
            replace(column, name=name) if column.name == TIME_COLUMN else column
            for column in self.columns
        )
        return RelationDesc(
            columns, self.key and tuple(name if part == TIME_COLUMN else part for part in self.key)
        )

    def __len__(self) -> int:
        return len(self.columns)

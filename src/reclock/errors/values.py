"""Values that a type does not have, and expressions that fail."""

from __future__ import annotations

from reclock.errors.root import ReclockError


class InvalidText(ReclockError):
    """A constant in a statement is not a valid text form of its type."""

    sqlstate = "22P02"

    def __init__(self, type_name: str, text: str, *, hint: str | None = None) -> None:
        super().__init__(f'invalid input syntax for type {type_name}: "{text}"', hint=hint)
        self.type_name, self.text = type_name, text


class MalformedArray(InvalidText):
    """A text is no array."""

    def __init__(self, text: str) -> None:
        ReclockError.__init__(self, f'malformed array literal: "{text}"')
        self.type_name, self.text = "array", text


class InvalidEnumLabel(InvalidText):
    """A text is no label of an enum."""

    def __init__(self, type_name: str, text: str) -> None:
        ReclockError.__init__(self, f'invalid input value for enum {type_name}: "{text}"')
        self.type_name, self.text = type_name, text


class MalformedRecord(InvalidText):
    """A text is no record of a composite type."""

    def __init__(self, text: str, detail: str) -> None:
        ReclockError.__init__(self, f'malformed record literal: "{text}"', detail=detail)
        self.type_name, self.text, self.detail = "record", text, detail


class InvalidMoment(InvalidText):
    """A constant in a statement is not a valid text form of a date or timestamp."""

    sqlstate = "22007"


class MomentOutOfRange(ReclockError):
    """A constant in a statement has the form of a date or timestamp, but there is no such
    moment."""

    sqlstate = "22008"

    def __init__(self, text: str = "", *, message: str | None = None) -> None:
        super().__init__(message or f'date/time field value out of range: "{text}"')
        self.text = text


class ZoneOutOfRange(MomentOutOfRange):
    """A constant in a statement has an offset from UTC that no time zone has."""

    sqlstate = "22009"

    def __init__(self, text: str) -> None:
        super().__init__(text, message=f'time zone displacement out of range: "{text}"')


class InvalidRange(ReclockError):
    """A text is not a range."""

    sqlstate = "22P02"

    def __init__(self, text: str, detail: str) -> None:
        super().__init__(f'malformed range literal: "{text}"', detail=detail)
        self.text = text


class InvalidFormattedMoment(ReclockError):
    """A text does not have the format that ``to_timestamp`` or ``to_date`` reads."""

    sqlstate = "22007"

    def __init__(self, message: str, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, detail=detail, hint=hint)


class InvalidNumberFormat(ReclockError):
    """A format of ``to_char`` for numbers is invalid, or not supported. The SQLSTATE is
    PostgreSQL's."""

    sqlstate = "42601"

    def __init__(self, message: str, sqlstate: str = sqlstate) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class InvalidInterval(InvalidText):
    """A constant in a statement is not a valid text form of an interval."""

    sqlstate = "22007"


class InvalidJson(ReclockError):
    """A text is not JSON, or is JSON that ``jsonb`` cannot hold."""

    sqlstate = "22P02"

    def __init__(
        self, detail: str | None = None, *, message: str | None = None, sqlstate: str | None = None
    ) -> None:
        message = message or "invalid input syntax for type json"
        super().__init__(message, detail=detail, sqlstate=sqlstate)


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


class JsonPathError(ReclockError):
    """A ``jsonpath`` has no valid syntax, or fails on a document. The SQLSTATE is PostgreSQL's."""

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class ConversionError(ReclockError):
    """Bytes are no valid text in an encoding, or a text spells no bytes in it. The SQLSTATE is
    PostgreSQL's."""

    def __init__(self, message: str, sqlstate: str = "22023", *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.sqlstate = sqlstate


class EvaluationError(ReclockError):
    """A query failed on a value of the data (PostgreSQL's SQLSTATE, of class 22), or a recursive
    query did not end (``54000``)."""

    sqlstate = "22000"


DIGITS_HINT = (
    "round the value, or declare the column with a precision and scale, such as numeric(38, 18)"
)
"""What to do where an unconstrained numeric does not hold all digits of a value."""


class NetworkHasHost(InvalidText):
    """A text is an address in a network, and no network (``cidr``)."""

    def __init__(self, text: str) -> None:
        detail = "Value has bits set to right of mask."
        ReclockError.__init__(self, f'invalid cidr value: "{text}"', detail=detail)
        self.type_name, self.text, self.detail = "cidr", text, detail

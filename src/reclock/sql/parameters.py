"""The parameters ``$1``, ``$2``, … of one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from reclock.algebra.array_shapes import with_dimensions
from reclock.algebra.relations import MAX_PRECISION, ScalarType, TypeName, numeric
from reclock.errors import IndeterminateType, NumberOutOfRange, UnknownParameter
from reclock.plan.scalars import Literal, Parameter

MOST = 65_535


@dataclass(slots=True, eq=False)
class Parameters:
    """The types of the parameters, as far as they are known. Planning infers the others from the
    context; the first place with a type decides.

    With ``values``, the statement is executed: each parameter is a constant of its type. Without,
    it is only described.
    """

    types: list[ScalarType | None] = field(default_factory=list)
    values: Sequence[Any] | None = None
    is_open: bool = True
    """Whether the statement may name parameters beyond those of ``types``."""

    def read(self, number: int) -> Parameter | Literal | None:
        """Parameter ``number`` as an expression; None if its type is not known yet. Raises
        ``UnknownParameter``."""
        if not 1 <= number <= (MOST if self.is_open else len(self.types)):
            raise UnknownParameter(f"${number}")
        self.types += [None] * (number - len(self.types))
        type = self.types[number - 1]
        if type is None:
            return None
        return (
            Parameter(number, type)
            if self.values is None
            else constant(self.values[number - 1], type)
        )

    def settle(self, number: int, type: ScalarType) -> Parameter | Literal:
        """Give the parameter this type, unless it has one."""
        if self.types[number - 1] is None:
            self.types[number - 1] = numeric() if type.name is TypeName.NUMERIC else type
        parameter = self.read(number)
        assert parameter is not None
        return parameter

    def settled(self) -> tuple[ScalarType, ...]:
        """All types. Raises ``IndeterminateType``."""
        types = []
        for number, type in enumerate(self.types, 1):
            if type is None:
                raise IndeterminateType(
                    f"could not determine data type of parameter ${number}",
                    hint="write a cast, such as $1::text",
                )
            types.append(type)
        return tuple(types)


NO_PARAMETERS = Parameters(is_open=False)


def constant(value: Any, type: ScalarType) -> Literal:
    """A parameter's value as a constant. A numeric keeps all its digits, and an array its
    dimensions. Raises ``NumberOutOfRange``."""
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        scale = max(0, -exponent)
        precision = max(1, len(digits) + max(0, exponent), scale)
        if precision > MAX_PRECISION:
            hint = f"a numeric has {MAX_PRECISION} digits at most"
            raise NumberOutOfRange(f"{value:.50g}", "numeric", hint=hint)
        return Literal(value, numeric(precision, scale))
    return Literal(value, with_dimensions(value, type) if type.name is TypeName.ARRAY else type)

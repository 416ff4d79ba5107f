"""Functions in Python that the engines call on columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reclock.compute.expressions.json_paths import failure
from reclock.errors import ReclockError

TEXT, INTEGER, DOUBLE, BOOLEAN = pa.string(), pa.int32(), pa.float64(), pa.bool_()
TEXTS = pa.list_(pa.string())


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of single values, as a function of Arrow columns."""

    function: Callable[..., Any]
    parameters: tuple[pa.DataType, ...]
    result: pa.DataType

    def of_columns(self) -> Callable[..., pa.Array]:
        """The function for an engine, which looks at the number of parameters and their
        annotations."""

        def one(column: pa.Array) -> pa.Array:
            return self._computed(column)

        def two(left: pa.Array, right: pa.Array) -> pa.Array:
            return self._computed(left, right)

        def three(a: pa.Array, b: pa.Array, c: pa.Array) -> pa.Array:
            return self._computed(a, b, c)

        def four(a: pa.Array, b: pa.Array, c: pa.Array, d: pa.Array) -> pa.Array:
            return self._computed(a, b, c, d)

        functions: dict[int, Callable[..., pa.Array]] = {1: one, 2: two, 3: three, 4: four}
        return functions[len(self.parameters)]

    def _computed(self, *columns: pa.Array) -> pa.Array:
        function = self.function
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([None if None in row else function(*row) for row in rows], self.result)


def or_failure(function: Callable[..., str]) -> Callable[..., str]:
    """As ``function``; an error is a failure."""

    def call(*arguments: Any) -> str:
        try:
            return function(*arguments)
        except ReclockError as error:
            return failure(error.sqlstate, error.message)

    return call

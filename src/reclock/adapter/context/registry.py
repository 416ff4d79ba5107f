"""Registries of the families of statements: one function for each type of planned statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from reclock.errors import InternalError

F = TypeVar("F", bound=Callable[..., Any])


class Registry(Generic[F], Mapping[type, F]):
    """A decorator, ``@registry(CreateTable)``, and the functions that it decorated, by type."""

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._functions: dict[type, F] = {}

    def __call__(self, *types: type) -> Callable[[F], F]:
        """Register the decorated function for statements of these types."""

        def register(function: F) -> F:
            for statement_type in types:
                if statement_type in self._functions:
                    raise InternalError(f"{statement_type.__name__} has {self._purpose} already")
                self._functions[statement_type] = function
            return function

        return register

    def __getitem__(self, statement_type: type) -> F:
        try:
            return self._functions[statement_type]
        except KeyError:
            raise InternalError(f"{statement_type.__name__} has no {self._purpose}") from None

    def __contains__(self, statement_type: object) -> bool:
        return statement_type in self._functions

    def __iter__(self) -> Iterator[type]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

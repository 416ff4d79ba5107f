"""Names of functions in the catalog. The item of a function is named by its signature, as in
``add(integer, integer)``, so that functions of one name with other parameters are other items."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from reclock.algebra.relations import TEXT, ScalarType, TypeName, numeric
from reclock.sql.names import parts
from reclock.sql.queries.type_names import reject_domain, scalar_type, text_limit
from reclock.sql.statements.functions.names_syntax import FunctionName


def signature(name: str, types: Iterable[ScalarType]) -> str:
    """The name of a function's item."""
    return f"{name}({', '.join(map(str, types))})"


def object_parts(name: exp.Table) -> tuple[str, ...]:
    """The parts of the name of an object, which may be a function."""
    written = parts(name)
    if not isinstance(name, FunctionName):
        return written
    types = name.args["types"].expressions
    return *written[:-1], signature(written[-1], map(parameter_type, types))


def parameter_type(kind: exp.Expr) -> ScalarType:
    """The type of a parameter or result. As in PostgreSQL, its length or precision says nothing."""
    reject_domain(kind, "the signature of a function")
    type = TEXT if text_limit(kind) is not None else scalar_type(kind)
    return numeric() if type.name is TypeName.NUMERIC else type

"""Python values as the parameters of a statement, the same in both kinds of client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.adapt import PyFormat, Transformer

from reclock.adapter.context.results import Result
from reclock.adapter.session.prepared import PreparedStatement
from reclock.adapter.session.session import Session
from reclock.adapter.statement_context import Answer
from reclock.errors import TypeMismatch
from reclock.server.values import decode, type_of


def execute_with(session: Session, text: str, params: Sequence[Any]) -> Answer:
    """The result of the only statement of ``text``. Raises what ``prepare_with`` raises."""
    prepared, values = prepare_with(session, text, params)
    answer = session.execute_prepared(prepared, values)
    return answer if prepared.parsed is not None else Result("")


def prepare_with(
    session: Session, text: str, params: Sequence[Any]
) -> tuple[PreparedStatement, list[Any]]:
    """The only statement of ``text``, prepared, and the values of its parameters. These have the
    types that psycopg would send to a server.

    Raises ``TypeMismatch`` for a value that has no type of SQL.
    """
    transformer = Transformer()
    try:
        values = transformer.dump_sequence(list(params), [PyFormat.AUTO] * len(params))
    except psycopg.Error as error:
        raise TypeMismatch(str(error)) from error
    prepared = session.prepare(
        text, [type_of(oid, session.type_of_oid) for oid in transformer.types or ()]
    )
    prepared.check_count(len(values))
    decoded = [
        decode(bytes(value) if value is not None else None, type, int(format), session.clock)
        for value, type, format in zip(
            values, prepared.parameter_types, transformer.formats or (), strict=True
        )
    ]
    return prepared, decoded

"""The description of a sequence, by PostgreSQL's rules, and the values that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import BIGINT, INTEGER, SMALLINT, ScalarType
from reclock.algebra.sequences import SequencePosition
from reclock.catalog.objects import ItemType
from reclock.errors import InvalidSequence, SequenceExhausted, UnknownColumn
from reclock.sql.catalog.definitions import SequenceDefinition
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.names import QualifiedName, fold, identifier, nearest, parts
from reclock.sql.planning.definitions import definition_text
from reclock.sql.queries.type_names import scalar_type
from reclock.sql.statements.sequences.syntax import (
    CreateSequenceStatement,
    SequenceOptions,
    SequenceOwner,
)

_BITS = {SMALLINT: 16, INTEGER: 32, BIGINT: 64}


def define_sequence(
    options: SequenceOptions, type: ScalarType = BIGINT, old: SequenceDefinition | None = None
) -> SequenceDefinition:
    """The sequence that the options describe; what they leave out is as in ``old``, or by default.
    Raises ``InvalidSequence``."""
    arguments = options.args
    if arguments.get("type") is not None:
        type = scalar_type(arguments["type"])
    elif old is not None:
        type = old.type
    if type not in _BITS:
        raise InvalidSequence("sequence type must be smallint, integer, or bigint")
    increment = _number(arguments.get("increment"), old.increment if old is not None else 1)
    if increment == 0:
        raise InvalidSequence("INCREMENT must not be zero")
    minimum, maximum = _bounds(arguments, type, old, is_ascending=increment > 0)
    default_start = old.start if old is not None else minimum if increment > 0 else maximum
    start = _number(arguments.get("start"), default_start)
    _check_within("START", start, minimum, maximum)
    cache = _number(arguments.get("cache"), old.cache if old is not None else 1)
    if cache < 1:
        raise InvalidSequence(f"CACHE ({cache}) must be greater than zero")
    is_cyclic = arguments.get("is_cyclic")
    return SequenceDefinition(
        type,
        start,
        increment,
        minimum,
        maximum,
        cache,
        bool(is_cyclic) if is_cyclic is not None else old is not None and old.is_cyclic,
        _owner(options, old),
    )


def _bounds(
    arguments: Mapping[str, Any],
    type: ScalarType,
    old: SequenceDefinition | None,
    *,
    is_ascending: bool,
) -> tuple[int, int]:
    """The least and the greatest value."""
    lowest, highest = _limits(type)
    default_bounds = (1, highest) if is_ascending else (lowest, -1)
    old_bounds: tuple[int | None, int | None] = (None, None)
    if old is not None:
        # a bound that was the limit of the old type is that of the new one
        limits = dict(zip(_limits(old.type), (lowest, highest), strict=True))
        old_bounds = limits.get(old.minimum, old.minimum), limits.get(old.maximum, old.maximum)
    minimum, maximum = (
        default
        if arguments.get(name) is False or (arguments.get(name) is None and before is None)
        else _number(arguments.get(name), before or 0)
        for name, default, before in zip(
            ("minimum", "maximum"), default_bounds, old_bounds, strict=True
        )
    )
    for word, bound in (("MINVALUE", minimum), ("MAXVALUE", maximum)):
        if not lowest <= bound <= highest:
            raise InvalidSequence(f"{word} ({bound}) is out of range for sequence data type {type}")
    if minimum >= maximum:
        raise InvalidSequence(f"MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})")
    return minimum, maximum


def _limits(type: ScalarType) -> tuple[int, int]:
    """The lowest and the highest value of an integer type."""
    return -(1 << (_BITS[type] - 1)), (1 << (_BITS[type] - 1)) - 1


def check_restart(value: int, sequence: SequenceDefinition) -> None:
    _check_within("RESTART", value, sequence.minimum, sequence.maximum)


def _check_within(word: str, value: int, minimum: int, maximum: int) -> None:
    if value < minimum:
        raise InvalidSequence(f"{word} value ({value}) cannot be less than MINVALUE ({minimum})")
    if value > maximum:
        raise InvalidSequence(f"{word} value ({value}) cannot be greater than MAXVALUE ({maximum})")


def _number(node: Any, default: int) -> int:
    return default if node is None else int(node.name)


def _owner(
    options: SequenceOptions, old: SequenceDefinition | None
) -> tuple[tuple[str, ...], str] | None:
    owner = options.args.get("owner")
    if owner is not None:
        return parts(owner.this), fold(owner.args["column"])
    return None if options.args.get("is_free") or old is None else old.owner


def check_owner(owner: RelationEntry, column: str, name: QualifiedName) -> None:
    """Raises unless a sequence of this name can belong to the column."""
    if owner.type is not ItemType.TABLE:
        raise InvalidSequence(
            f'sequence cannot be owned by relation "{owner.name.item}"', sqlstate="42809"
        )
    if owner.name.scope != name.scope:
        raise InvalidSequence(
            "sequence must be in same schema as table it is linked to", sqlstate="55000"
        )
    if column not in owner.desc.names:
        raise UnknownColumn(column, hint=nearest(column, owner.desc.names))


def sequence_text(name: QualifiedName, sequence: SequenceDefinition) -> str:
    """The definition that the catalog keeps: with every option."""
    owner = None
    if sequence.owner is not None:
        *scope, table = (identifier(part) for part in sequence.owner[0])
        database, schema = scope if len(scope) == 2 else (None, scope[0])
        of = exp.Table(this=table, db=schema, catalog=database)
        owner = SequenceOwner(this=of, column=identifier(sequence.owner[1]))

    def number(value: int) -> exp.Literal:
        return exp.Literal(this=str(value), is_string=False)

    options = SequenceOptions(
        type=exp.DataType.build(str(sequence.type), dialect="postgres"),
        start=number(sequence.start),
        increment=number(sequence.increment),
        minimum=number(sequence.minimum),
        maximum=number(sequence.maximum),
        cache=number(sequence.cache),
        **({"is_cyclic": True} if sequence.is_cyclic else {}),
        **({"owner": owner} if owner is not None else {}),
    )
    return definition_text(
        CreateSequenceStatement(this=name.to_table(), exists=False, options=options)
    )


def next_values(
    name: str, sequence: SequenceDefinition, position: SequencePosition | None, count: int
) -> tuple[SequencePosition, Sequence[range]]:
    """The next ``count`` values, and the position after them. Raises ``SequenceExhausted``."""
    position = position or SequencePosition(sequence.start, is_called=False)
    step = sequence.increment
    first = position.last_value + step if position.is_called else position.last_value
    runs = []
    while count:
        room = sequence.maximum - first if step > 0 else first - sequence.minimum
        size = min(count, room // abs(step) + 1)
        if size > 0:
            runs.append(range(first, first + size * step, step))
            count -= size
            position = SequencePosition(runs[-1][-1], is_called=True)
        elif not sequence.is_cyclic:
            bound, value = (
                ("maximum", sequence.maximum) if step > 0 else ("minimum", sequence.minimum)
            )
            raise SequenceExhausted(name, bound=bound, value=value)
        first = sequence.minimum if step > 0 else sequence.maximum
    return position, runs


def moved_to(
    name: str, sequence: SequenceDefinition, value: int, *, is_called: bool
) -> SequencePosition:
    """The position that ``setval`` says. Raises ``InvalidSequence``."""
    if not sequence.minimum <= value <= sequence.maximum:
        raise InvalidSequence(
            f'setval: value {value} is out of bounds for sequence "{name}" '
            f"({sequence.minimum}..{sequence.maximum})",
            sqlstate="22003",
        )
    return SequencePosition(value, is_called)

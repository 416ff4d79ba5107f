"""Writes to tables, and the sequences behind them."""

from __future__ import annotations

from reclock.errors.names import quoted_name
from reclock.errors.root import ReclockError


class UnknownConflictTarget(ReclockError):
    """ON CONFLICT names no key that is enforced. The SQLSTATE is PostgreSQL's."""

    sqlstate = "42P10"

    def __init__(self) -> None:
        super().__init__(
            "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        )


class MergedTwice(ReclockError):
    """Several rows of the source of a MERGE change one row of the table."""

    sqlstate = "21000"

    def __init__(self) -> None:
        super().__init__(
            "MERGE command cannot affect row a second time",
            hint="Ensure that not more than one source row matches any one target row.",
        )


class RowChangedTwice(ReclockError):
    """Two statements of one WITH change one row."""

    sqlstate = "21000"

    def __init__(self, table: str) -> None:
        super().__init__(
            f"two statements of one WITH change the same row of table {quoted_name(table)}",
            hint="Let one of them change it, or write two statements.",
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
        super().__init__(
            f"nextval: reached {bound} value of sequence {quoted_name(name)} ({value})"
        )


class InvalidSequence(ReclockError):
    """The description of a sequence contradicts itself. The SQLSTATE is PostgreSQL's."""

    sqlstate = "22023"


class SequenceValueUndefined(ReclockError):
    """``currval`` or ``lastval`` before the session called ``nextval``."""

    sqlstate = "55000"

    def __init__(self, name: str | None) -> None:
        super().__init__(
            f"currval of sequence {quoted_name(name)} is not yet defined in this session"
            if name is not None
            else "lastval is not yet defined in this session"
        )


class GeneratedAlways(ReclockError):
    """A statement gives a value to a column that is GENERATED ALWAYS."""

    sqlstate = "428C9"

    def __init__(self, column: str, *, is_computed: bool, is_update: bool = False) -> None:
        what = (
            "a generated column"
            if is_computed
            else "an identity column defined as GENERATED ALWAYS"
        )
        can_override = not is_update and not is_computed
        super().__init__(
            f'column "{column}" can only be updated to DEFAULT'
            if is_update
            else f'cannot insert a non-DEFAULT value into column "{column}"',
            detail=f'Column "{column}" is {what}.',
            hint="Use OVERRIDING SYSTEM VALUE to override." if can_override else None,
        )

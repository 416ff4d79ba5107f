"""The CHECK constraints of users on the rows of a step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowCheck:
    """What came of a CHECK constraint on ``rows`` new rows, of which ``violations`` violate it.

    ``condition`` is SQL, and ``example`` the values of a row that violates it. If the condition
    could not be evaluated, ``error`` says why.
    """

    name: str
    condition: str
    rows: int
    violations: int = 0
    example: str | None = None
    error: str | None = None
    places: tuple[str, ...] = ()
    """Where some of these rows were read, in words."""

    @property
    def is_met(self) -> bool:
        return not self.violations and self.error is None

    @property
    def detail(self) -> str:
        """The result as a sentence."""
        check = f"CHECK ({self.condition})"
        if self.error is not None:
            return f"{check} could not be evaluated: {self.error}"
        if self.is_met:
            return f"{check} holds for {self.rows} row{'' if self.rows == 1 else 's'}."
        example = f", such as ({self.example})" if self.example is not None else ""
        if self.places:
            others = self.violations - len(self.places)
            example += f": {', '.join(self.places)}" + (f" and {others} more" if others else "")
        verb = "violates" if self.violations == 1 else "violate"
        return f"{self.violations} of {self.rows} rows {verb} {check}{example}"

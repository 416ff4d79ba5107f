"""Steps of DAGs, carried out in this process, which has everything loaded already."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import structlog

from reclock.errors import InternalError, InvalidOption, ReclockError
from reclock.pipeline.dag_steps import STEPS, Tell
from reclock.quality.audit import load as load_audits
from reclock.runtime.environment import Environment
from reclock.tracing import span

_log = structlog.get_logger(__name__)
_RETENTION_S = 600
"""How long the outcome of a step can be read after its end."""

_DONE_AGAIN = (
    "that was done for an earlier attempt, which did not live to see it; the step is done again"
)


class WarmSteps:
    """The steps that were requested of this process, each in a thread of its own. They end with the
    process.

    The client names a step by a key. Requesting a running step again changes nothing. Requesting
    one that has ended carries it out again, which the claims of sources make harmless. If the client
    that requested it before was killed and never read the outcome, the new progress begins with the
    lines of that attempt: they name rows that the new one no longer finds.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._changed = threading.Condition()
        self._running: dict[str, _Progress] = {}
        self._audits = threading.Thread(target=load_audits, name="load-audits", daemon=True)

    def start(self, key: str, step: str, arguments: Mapping[str, Any]) -> None:
        """Raises ``InvalidOption`` for a step that is unknown."""
        if step not in STEPS:
            raise InvalidOption(f'there is no step "{step}"')
        with self._changed:
            self._forget_old()
            previous = self._running.get(key)
            if previous is not None and previous.outcome is None:
                return
            lines = [] if previous is None or previous.is_read else [*previous.lines, _DONE_AGAIN]
            progress = self._running[key] = _Progress(lines)
            if self._audits.ident is None:
                self._audits.start()
        work = threading.Thread(
            target=self._run,
            args=(progress, step, dict(arguments)),
            name=f"step-{step}",
            daemon=True,
        )
        work.start()

    def progress(self, key: str, *, after: int, wait_s: float) -> Mapping[str, Any] | None:
        """The lines after the first ``after``, and the ``outcome`` once there is one. Waits for
        either. None for an unknown step.

        The outcome has a ``result`` or an ``error``.
        """
        deadline = time.monotonic() + wait_s
        with self._changed:
            while (progress := self._running.get(key)) is not None:
                remaining_s = deadline - time.monotonic()
                if progress.outcome is not None or len(progress.lines) > after or remaining_s <= 0:
                    progress.is_read = progress.outcome is not None
                    return {"lines": progress.lines[after:], "outcome": progress.outcome}
                self._changed.wait(remaining_s)
        return None

    def _run(self, progress: _Progress, step: str, arguments: Mapping[str, Any]) -> None:
        def tell(line: str) -> None:
            with self._changed:
                progress.lines.append(line)
                self._changed.notify_all()

        outcome = {"result": None} | self._outcome(step, arguments, tell)
        with self._changed:
            progress.outcome, progress.ended_at = outcome, time.monotonic()
            self._changed.notify_all()

    def _outcome(self, step: str, arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        try:
            with span(f"step {step}"):
                return {"result": STEPS[step](self._environment, **arguments, tell=tell)}
        except ReclockError as error:
            return {"error": error_as_json(error)}
        except Exception as failure:  # the edge of the thread: the client gets the error
            _log.error("step failed unexpectedly", step=step, exc_info=failure)
            return {"error": error_as_json(InternalError(f"{type(failure).__name__}: {failure}"))}

    def _forget_old(self) -> None:
        oldest = time.monotonic() - _RETENTION_S
        self._running = {
            key: progress
            for key, progress in self._running.items()
            if progress.outcome is None or progress.ended_at > oldest
        }


class _Progress:
    """The progress messages of a step, and its outcome."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.outcome: Mapping[str, Any] | None = None
        self.ended_at = 0.0
        self.is_read = False
        """Whether a client has asked for the outcome since the step has ended."""


def error_as_json(error: ReclockError) -> dict[str, Any]:
    return {
        "sqlstate": error.sqlstate,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
    }

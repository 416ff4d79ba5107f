"""How a process logs."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

from reclock.config import Settings

if TYPE_CHECKING:
    from structlog.typing import Processor


def configure_logging(settings: Settings) -> None:
    """Log to standard error in the format of the settings, with what the context is about: the time of
    the tick, or the session and the beginning of its statement."""
    # neither traceback shows values of variables: they may be a user's data
    last: list[Processor]
    if settings.log_format == "json":
        last = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str, ensure_ascii=False),
        ]
    else:
        last = [
            structlog.dev.ConsoleRenderer(
                exception_formatter=structlog.dev.plain_traceback, colors=sys.stderr.isatty()
            )
        ]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, settings.log_level)),
        # the current one, which a caller may have replaced
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )

"""The errors of sources, indexes and sinks, as users see them, and their record in the statuses."""

from __future__ import annotations

from reclock.adapter.timestamps import readiness
from reclock.errors import InternalError, ReclockError
from reclock.runtime.environment import Environment
from reclock.runtime.stores import Stores


def error_of(environment: Environment, failure: Exception, object_name: str) -> ReclockError:
    """The error that users see for a failure of the object. Exceptions of other libraries become an
    ``InternalError``."""
    if isinstance(failure, ReclockError):
        return readiness.about_object(failure, environment)
    return InternalError(f"{object_name} failed", detail=str(failure))


def record_running(stores: Stores, id: str, *, detail: str | None = None, hint: str | None = None) -> None:
    stores.statuses.record(id, "running", detail=detail, hint=hint, at=stores.clock())


def record_stall(stores: Stores, *ids: str, error: ReclockError) -> None:
    """Record that ``error`` stalls the objects."""
    for id in ids:
        record_error(stores, id, status="stalled", error=error)


def record_error(stores: Stores, id: str, *, status: str, error: ReclockError) -> None:
    stores.statuses.record(id, status, error=error.message, detail=error.detail, hint=error.hint, at=stores.clock())

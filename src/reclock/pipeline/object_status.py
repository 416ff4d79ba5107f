"""The errors of sources, indexes and sinks, as users see them, and their record in the statuses."""

from __future__ import annotations

from reclock.adapter.timestamps import readiness
from reclock.algebra.ids import GlobalId
from reclock.consensus.objects.statuses import Status
from reclock.errors import InternalError, ReclockError, about_source, known_failure, plain_text
from reclock.runtime.environment import Environment
from reclock.runtime.stores import Stores
from reclock.sql.catalog.planner_catalog import PlannerCatalog


def error_of(environment: Environment, failure: Exception, object_name: str) -> ReclockError:
    """The error that users see for a failure of the object. Other exceptions become a
    ``FileAccessFailed``, or else an ``InternalError``."""
    if isinstance(failure, ReclockError):
        return readiness.about_object(failure, environment)
    return known_failure(failure) or InternalError(
        f"{object_name} failed", detail=plain_text(failure)
    )


def about_read_source(catalog: PlannerCatalog, id: GlobalId, error: ReclockError) -> ReclockError:
    """``error`` of an index or sink. If a source that it reads has failed, the hint proposes
    statements about that source from now on."""
    source = catalog.source_read_by(id)
    return error if source is None else about_source(str(source.name), error)


def running_status(
    stores: Stores, id: str, *, detail: str | None = None, hint: str | None = None
) -> Status:
    return Status(id, "running", None, detail, hint, stores.clock())


def error_status(stores: Stores, id: str, *, status: str, error: ReclockError) -> Status:
    """The status of an object that ``error`` holds up."""
    return Status(id, status, error.message, error.detail, error.hint, stores.clock())


def record_running(
    stores: Stores, id: str, *, detail: str | None = None, hint: str | None = None
) -> None:
    stores.statuses.record_all([running_status(stores, id, detail=detail, hint=hint)])


def record_stall(stores: Stores, *ids: str, error: ReclockError) -> None:
    """Record that ``error`` stalls the objects."""
    stores.statuses.record_all(
        [error_status(stores, id, status="stalled", error=error) for id in ids]
    )

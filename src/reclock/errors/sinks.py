"""Errors of sinks, and of COPY into files."""

from __future__ import annotations

from reclock.errors.names import quoted_name
from reclock.errors.root import ReclockError


class SinkError(ReclockError):
    """A sink stalls: it writes nothing to its target until the cause is gone."""

    sqlstate = "58030"


class TargetUnavailable(SinkError):
    """The target of a sink cannot be reached, or does not answer in time."""

    sqlstate = "08001"


class TargetChanged(SinkError):
    """The target of a sink is not as the sink left it: it is gone, was created again, or another
    writer wrote there."""

    sqlstate = "58P02"

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        super().__init__(
            message,
            detail=detail,
            hint="restore the target; or drop the sink and create it for a new one",
        )


class RegistrationFailed(ReclockError):
    """The table of a sink cannot be registered in a catalog, or dropped from it. The sink itself
    goes on."""

    sqlstate = "58030"


class TargetNotEmpty(ReclockError):
    """The folder of a COPY into files has files already, or another COPY was faster."""

    sqlstate = "58P02"

    def __init__(self, folder: str) -> None:
        super().__init__(
            f'the folder "{folder}" is not empty',
            hint="name a new folder; files without a manifest may be left from a COPY that was "
            "killed, and can be deleted",
        )
        self.folder = folder


class TargetComplete(ReclockError):
    """The folder of a COPY into files lies within a folder that another export, or a sink, has
    written and described in a manifest."""

    sqlstate = "58P02"

    def __init__(self, folder: str) -> None:
        super().__init__(
            f'the folder "{folder}" is an export, whose files its manifests name',
            hint="name a folder that lies in no other export",
        )
        self.folder = folder


class SinkNotSwitched(ReclockError):
    """A sink is altered again before it has switched to the relation of the last ALTER SINK."""

    sqlstate = "55006"

    def __init__(self, sink: str, relation: str) -> None:
        super().__init__(
            f"sink {quoted_name(sink)} has not switched to {quoted_name(relation)} yet",
            hint="it switches when it emits next; alter it again after that",
        )
        self.sink, self.relation = sink, relation


class SinkHeadersInvalid(SinkError):
    """The value of a sink's column of headers is not a document of headers."""

    sqlstate = "22P02"

    def __init__(self, value: str) -> None:
        super().__init__(
            "a row has invalid headers",
            detail=f"such as {value[:200]}",
            hint='headers are an object such as {"name": "text"}, or [["name", "\\\\x00ff"]]',
        )


class SinkKeyNotUnique(SinkError):
    """Two rows with the key of one message came at one time."""

    sqlstate = "23505"

    def __init__(self, key: tuple[str, ...], *, at: int, detail: str | None = None) -> None:
        super().__init__(
            f"several rows agree in ({', '.join(key)}) at {at}",
            detail=detail,
            hint="create the sink with a KEY that tells the rows apart",
        )
        self.key, self.at = key, at

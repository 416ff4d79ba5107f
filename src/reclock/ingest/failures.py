"""Source errors as text, to send them from executors to the driver, and to store them in claims."""

from __future__ import annotations

import json
from typing import Any

from reclock.errors import (
    DecodeFailed,
    SourceError,
    UpstreamChanged,
    UpstreamLost,
    UpstreamReplaced,
    UpstreamUnavailable,
)

_CHANGES = {error.__name__: error for error in (UpstreamChanged, UpstreamLost, UpstreamReplaced)}


def encode_failure(failure: SourceError) -> str:
    """The error as JSON. Other releases read it in claims."""
    fields: dict[str, Any] = {"message": failure.message, "detail": failure.detail}
    if isinstance(failure, DecodeFailed | UpstreamChanged):
        fields |= {"partition": failure.partition, "offset": failure.offset, "hint": failure.hint}
    if isinstance(failure, DecodeFailed):
        fields |= {"unit": failure.unit}
    return json.dumps({"kind": type(failure).__name__, **fields})


def decode_failure(text: str) -> SourceError:
    """The error that ``encode_failure`` encoded. An error class without fields of its own becomes
    ``UpstreamUnavailable``."""
    fields = json.loads(text)
    match fields["kind"]:
        case "DecodeFailed":
            return DecodeFailed(
                fields["partition"], fields["offset"], detail=fields["detail"], unit=fields["unit"]
            )
        case "UpstreamChanged" | "UpstreamLost" | "UpstreamReplaced" as kind:
            error = _CHANGES[kind]
            texts = {name: fields.get(name) for name in ("message", "detail", "hint")}
            return error(fields["partition"], fields["offset"], **texts)
        case _:
            return UpstreamUnavailable(fields["message"], detail=fields["detail"])

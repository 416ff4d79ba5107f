"""Failures of an upstream as text: from an executor to the driver, and into a claim."""

from __future__ import annotations

import json
from typing import Any

from reclock.errors import DecodeFailed, SourceError, UpstreamChanged, UpstreamLost, UpstreamUnavailable


def encode_failure(failure: SourceError) -> str:
    """The failure as JSON. It is durable in claims: other releases read it."""
    fields: dict[str, Any] = {"message": failure.message, "detail": failure.detail}
    if isinstance(failure, DecodeFailed | UpstreamChanged):
        fields |= {"partition": failure.partition, "offset": failure.offset, "hint": failure.hint}
    if isinstance(failure, DecodeFailed):
        fields |= {"unit": failure.unit}
    return json.dumps({"kind": type(failure).__name__, **fields})


def decode_failure(text: str) -> SourceError:
    """The failure that ``encode_failure`` wrote; one of a kind without fields of its own becomes ``UpstreamUnavailable``."""
    fields = json.loads(text)
    match fields["kind"]:
        case "DecodeFailed":
            return DecodeFailed(fields["partition"], fields["offset"], detail=fields["detail"], unit=fields["unit"])
        case "UpstreamChanged" | "UpstreamLost" as kind:
            error = UpstreamLost if kind == "UpstreamLost" else UpstreamChanged
            texts = {name: fields.get(name) for name in ("message", "detail", "hint")}
            return error(fields["partition"], fields["offset"], **texts)
        case _:
            return UpstreamUnavailable(fields["message"], detail=fields["detail"])

"""Source errors as text, to send them from executors to the driver, and to store them in claims."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from reclock.errors import (
    BadRecord,
    DecodeFailed,
    HeaderMismatch,
    ObjectsUnreadable,
    ParquetUnreadable,
    RecordsRejected,
    SchemaMismatch,
    SourceError,
    UnpublishedGone,
    UpstreamChanged,
    UpstreamLost,
    UpstreamReplaced,
    UpstreamUnavailable,
)


def encode_failure(failure: SourceError) -> str:
    """The error as JSON. Other releases read it in claims."""
    fields: dict[str, Any] = {"message": failure.message, "detail": failure.detail}
    if isinstance(failure, ObjectsUnreadable):
        fields["failures"] = [encode_failure(cause) for cause in failure.failures]
        fields["count"] = failure.count
    if isinstance(failure, DecodeFailed | UpstreamChanged):
        fields |= {"partition": failure.partition, "offset": failure.offset, "hint": failure.hint}
    if isinstance(failure, DecodeFailed):
        fields |= {
            "unit": failure.unit,
            "records": [asdict(record) for record in failure.records],
            "count": failure.count,
            "is_complete": failure.is_complete,
        }
    elif isinstance(failure, UpstreamChanged):
        fields |= {"upper": failure.upper, "restart": failure.restart}
    return json.dumps({"kind": type(failure).__name__, **fields})


def decode_failure(text: str) -> SourceError:
    """The error that ``encode_failure`` encoded. An error class without fields of its own becomes
    ``UpstreamUnavailable``."""
    fields = json.loads(text)
    match fields["kind"]:
        case "DecodeFailed":
            [record] = fields.get("records") or [{}]  # claims of earlier releases have none
            return DecodeFailed(
                fields["partition"],
                fields["offset"],
                **_texts(fields),
                unit=fields["unit"],
                upper=record.get("upper"),
                container=record.get("container"),
                remedy=record.get("remedy"),
            )
        case "RecordsRejected":
            records = [BadRecord(**record) for record in fields["records"]]
            return RecordsRejected(
                records, count=fields["count"], is_complete=fields["is_complete"]
            )
        case "HeaderMismatch":
            return HeaderMismatch(fields["partition"], detail=fields["detail"])
        case "ParquetUnreadable":
            return ParquetUnreadable(fields["partition"], detail=fields["detail"])
        case "SchemaMismatch":
            return SchemaMismatch(fields["partition"], detail=fields["detail"])
        case "ObjectsUnreadable":
            failures = [decode_failure(cause) for cause in fields["failures"]]
            return ObjectsUnreadable(
                [cause for cause in failures if isinstance(cause, DecodeFailed | UpstreamChanged)],
                count=fields["count"],
            )
        case "UpstreamChanged" | "UnpublishedGone" as kind:
            changed = UpstreamChanged if kind == "UpstreamChanged" else UnpublishedGone
            return changed(
                fields["partition"],
                fields["offset"],
                **_texts(fields),
                upper=fields.get("upper"),
                restart=fields.get("restart"),
            )
        case "UpstreamLost" | "UpstreamReplaced" as kind:
            error = UpstreamLost if kind == "UpstreamLost" else UpstreamReplaced
            return error(fields["partition"], fields["offset"], **_texts(fields))
        case _:
            return UpstreamUnavailable(fields["message"], detail=fields["detail"])


def _texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields.get(name) for name in ("message", "detail", "hint")}

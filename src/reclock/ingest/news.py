"""The fingerprint of what a source's upstream has that is not ingested: whoever has reported it once
sees whether there is anything else to report."""

from __future__ import annotations

import hashlib
import json

from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.ingest.advance import Ingestion


def news_fingerprint(ingestion: Ingestion, frontier: GroupFrontier) -> str | None:
    """A text that changes when the upstream has more, and when a part of it was ingested. Reads of
    the source do not change it. ``frontier`` is the source's group before the probe. None if it is
    claimed by a process that gives signs of life, which ingests what there is.

    An unfinished step, which holds a claim, has one fingerprint, and another after each decision
    about it, such as a waived check. A source whose upstream is read without a probe, for example
    for its first snapshot, has another one after each step that has read it, also if nothing came.
    """
    claim = frontier.claim
    if claim is not None:
        if claim.lease_until > ingestion.at:
            return None
        news: list[object] = ["step", claim.at, claim.payload.get("decisions")]
    elif ingestion.probed is not None:
        news = ["offsets"] + [
            [increment.partition, increment.lower, increment.upper, increment.evidence]
            for increment in ingestion.probed.increments
        ]
    else:
        upper = ingestion.examined.upper if ingestion.examined is not None else None
        news = ["read without a probe", upper, frontier.probed_at]
    text = json.dumps([ingestion.source, *news], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

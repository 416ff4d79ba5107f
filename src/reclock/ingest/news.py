"""The fingerprint of what a source's upstream has that is not ingested: whoever has reported it once
sees whether there is anything else to report."""

from __future__ import annotations

import hashlib
import json

from reclock.consensus.frontiers.claims import Claim
from reclock.ingest.advance import Ingestion


def news_fingerprint(ingestion: Ingestion, claim: Claim | None) -> str:
    """A text that changes when the upstream has more, and when a part of it was ingested. Reads of
    the source do not change it.

    An unfinished step, that of ``claim``, has one fingerprint, and another after each decision about
    it, such as a waived check. A source whose upstream is read without a probe, for example for its
    first snapshot, has another one whenever its upper has moved.
    """
    if claim is not None:
        news: list[object] = ["step", claim.at, claim.payload.get("decisions")]
    elif ingestion.probed is not None:
        news = ["offsets"] + [
            [increment.partition, increment.lower, increment.upper, increment.evidence]
            for increment in ingestion.probed.increments
        ]
    else:
        upper = ingestion.examined.upper if ingestion.examined is not None else None
        news = ["read without a probe", upper]
    text = json.dumps([ingestion.source, *news], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

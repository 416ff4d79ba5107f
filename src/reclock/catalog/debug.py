"""The debug tool: it shows, checks and mends a catalog through ``DurableCatalogState``, alike in
every implementation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.mend import Edit, Mended
from reclock.catalog.readable import from_json
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import CatalogError


def edit(
    state: DurableCatalogState,
    kind: str,
    key: str,
    value: str | None,
    *,
    user: str,
    occurred_at: Timestamp,
) -> Mended:
    """Store ``value`` at ``key``, or delete the object there if it is None. Both are JSON as in a
    dump. ``state`` is not open.

    Raises ``InvalidOption`` if one is not such JSON, and what ``DurableCatalogState.mend`` raises.
    """
    decoded = Edit(
        kind, from_json("KEY", key), None if value is None else from_json("VALUE", value)
    )
    return state.mend(decoded, user=user, occurred_at=occurred_at)


def check_upgrade(
    state: DurableCatalogState, builtins: Sequence[BuiltinObject], sizes: Collection[str] | None
) -> CatalogSnapshot:
    """The contents of the catalog if this program opened it. Changes nothing and disturbs no
    process.

    Raises what opening would raise, and ``CatalogError`` if a cluster or replica has a size that is
    not in ``sizes`` (None: any).
    """
    snapshot = state.check_open(builtins)
    if sizes is not None:
        _require_sizes(snapshot, sizes)
    return snapshot


def _require_sizes(snapshot: CatalogSnapshot, sizes: Collection[str]) -> None:
    clusters = snapshot.clusters
    named = [(f'cluster "{cluster.name}"', cluster.size) for cluster in clusters.values()]
    named += [
        (f'replica "{clusters[r.cluster_id].name}.{r.name}"', r.size)
        for r in snapshot.cluster_replicas.values()
    ]
    unknown = sorted(
        f'{name} has size "{size}"'
        for name, size in named
        if size is not None and size not in sizes
    )
    if unknown:
        raise CatalogError(
            "the catalog uses cluster replica sizes that are not defined",
            detail="; ".join(unknown),
            hint=f"defined are: {', '.join(sorted(sizes)) or 'none'}",
        )

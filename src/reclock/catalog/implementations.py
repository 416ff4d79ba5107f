"""The implementation that keeps an environment's catalog: the mark in consensus says which, and the
settings must agree with it."""

from __future__ import annotations

from typing import Literal, get_args
from uuid import uuid4

from reclock.catalog.log import CatalogLog
from reclock.catalog.persist import PersistLog, persist_folder
from reclock.catalog.shadow import ShadowLog
from reclock.catalog.stash import StashLog
from reclock.collections.delta_log import DeltaLog
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import identity
from reclock.consensus.leadership.identity import EnvironmentMark
from reclock.errors import CatalogCorrupt, CatalogUninitialized, ConfigurationError

Implementation = Literal["stash", "persist", "shadow"]


def find_mark(settings: Settings, consensus: Consensus, *, may_make: bool) -> EnvironmentMark:
    """The environment's mark. If it has none and ``may_make``, one is created from ``settings``: by
    default a new id and the stash.

    Raises ``CatalogUninitialized`` if there is none otherwise, ``ConfigurationError`` if the
    settings disagree with it.
    """
    mark = consensus.read(identity.current)
    if mark is None:
        if not may_make:
            raise CatalogUninitialized()
        _refuse_to_forget(settings)
        new = EnvironmentMark(settings.environment_id or str(uuid4()), settings.catalog or "stash")
        mark = consensus.transact(lambda connection: identity.establish(connection, new))
    if settings.environment_id not in ("", mark.id):
        raise ConfigurationError(
            (
                f'setting "environment_id" is "{settings.environment_id}", consensus belongs '
                f'to environment "{mark.id}"'
            ),
            hint="correct environment_id, or consensus_url",
        )
    if settings.catalog not in ("", mark.catalog):
        raise ConfigurationError(
            (
                f'setting "catalog" is "{settings.catalog}", the catalog of this environment '
                f'is kept in "{mark.catalog}"'
            ),
            hint='"reclock catalog convert" moves it',
        )
    return mark


def open_log(
    implementation: str, environment_id: str, settings: Settings, consensus: Consensus
) -> CatalogLog:
    """The log of an environment's catalog in that implementation. Reads and creates nothing."""
    match implementation:
        case "stash":
            return StashLog(consensus)
        case "persist":
            return PersistLog(
                persist_folder(settings.lake_root, environment_id, settings.lake_options), consensus
            )
        case "shadow":
            stash, persist = (
                open_log(name, environment_id, settings, consensus) for name in ("stash", "persist")
            )
            return ShadowLog(stash, persist)
        case unknown:
            implementations = ", ".join(get_args(Implementation))
            raise CatalogCorrupt(
                "environment",
                environment_id,
                detail=f'its catalog is kept in "{unknown}", known are {implementations}',
            )


def _refuse_to_forget(settings: Settings) -> None:
    """Raises ``ConfigurationError`` if consensus was lost and the default would create an empty
    catalog beside the lake's."""
    if settings.environment_id and not settings.catalog:
        folder = persist_folder(settings.lake_root, settings.environment_id, settings.lake_options)
        if DeltaLog.exists(folder):
            raise ConfigurationError(
                (
                    f'consensus knows no environment "{settings.environment_id}", but the '
                    "lake holds a catalog of it"
                ),
                hint='set catalog to "persist" to go on with it, or to "stash" to begin anew',
            )

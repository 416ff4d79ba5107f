"""An environment as one process works with it: its stores, its control plane and the process's
runtime, wired together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from reclock import tracing
from reclock.algebra.timestamps import Clock
from reclock.config import Settings
from reclock.controllers.active_peeks import ActivePeeks
from reclock.runtime.control_plane import ControlPlane
from reclock.runtime.process import ProcessRuntime
from reclock.runtime.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Environment:
    """Composes the three parts, opens and closes them. As a context manager, it closes connections
    at the end, and stops the Spark session that it started. A function takes the part that it uses,
    or the environment if it needs several."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None,
        spark: SparkSession | None,
        *,
        may_create: bool,
        is_long_lived: bool = False,
    ) -> None:
        """Connects, but does not open the catalog. Use ``open`` or ``initialise``."""
        active_peeks = ActivePeeks()
        self.stores = Stores(settings, clock, may_create=may_create, on_catalog=active_peeks.learn)
        self.runtime = ProcessRuntime(self.stores, spark, is_long_lived=is_long_lived)
        self.control_plane = ControlPlane(self.stores, active_peeks, self.runtime.make_replica)

    @classmethod
    def initialise(
        cls,
        home: Path | str | None = None,
        *,
        clock: Clock | None = None,
        spark: SparkSession | None = None,
        accept_loss: bool = False,
    ) -> Self:
        """The environment at ``home``: created if it does not exist, upgraded if it is old, else
        joined.

        A given ``spark`` session is used and left running. Raises ``StoreRolledBack`` if one store
        is older than the other; ``accept_loss`` continues nevertheless, and fences all other
        processes.
        """
        settings = Settings.load(home)
        settings.make_folders()
        return cls(settings, clock, spark, may_create=True)._opened(
            may_lead=True, accept_loss=accept_loss
        )

    @classmethod
    def open(
        cls,
        home: Path | str | None = None,
        *,
        clock: Clock | None = None,
        spark: SparkSession | None = None,
        is_long_lived: bool = False,
    ) -> Self:
        """Join the environment at ``home``. Raises ``CatalogUninitialized``,
        ``CatalogVersionUnsupported``, ``Fenced``, ``StoreRolledBack``. ``is_long_lived``: see
        ``ProcessRuntime``."""
        settings = Settings.load(home)
        return cls(settings, clock, spark, may_create=False, is_long_lived=is_long_lived)._opened(
            may_lead=False
        )

    @classmethod
    def unopened(cls, home: Path | str | None = None, *, clock: Clock | None = None) -> Self:
        """The environment at ``home`` without opening its catalog, to inspect and repair it beside
        other processes."""
        return cls(Settings.load(home), clock, None, may_create=False)

    def _opened(self, *, may_lead: bool, accept_loss: bool = False) -> Self:
        try:
            self.stores.open(may_lead=may_lead, accept_loss=accept_loss)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Close the runtime first: its running computations need the stores."""
        self.runtime.close()
        self.stores.close()
        tracing.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""Sources that share the transactions of one connector: the first one is the host, later ones are
its guests.

The host binds everything in the connector's transactions, in its frontier group, so that no
transaction is split over two times. Hosts and guests follow from the definitions alone, because a
host cannot be dropped before its guests.
"""

from __future__ import annotations

from reclock.algebra.ids import GlobalId
from reclock.definitions.formats import Format
from reclock.definitions.sources import DebeziumConnector, Upstream
from reclock.errors import InvalidOption, quoted_name
from reclock.sql.catalog.definitions import SourceDefinition
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog


def host_of(upstream: Upstream, format: Format | None, catalog: PlannerCatalog) -> GlobalId | None:
    """The source that has the transactions which a new one over ``upstream`` would tell of, and
    reads them in the same way."""
    for entry in _over_the_same(upstream, catalog):
        source = entry.source
        if (
            source is not None
            and source.host is None
            and (source.connector, source.format) == (upstream, format)
        ):
            return entry.id
    return None


def check_guest(source: SourceDefinition, catalog: PlannerCatalog) -> None:
    """Raises ``InvalidOption`` if the source would split the transactions of another one, or has an
    option that only its host can have."""
    if source.host is None:
        for entry in _over_the_same(source.connector, catalog):
            raise InvalidOption(
                f"source {quoted_name(entry.name)} has the transactions of these tables",
                hint=(
                    "read them over the same CONNECTION, TRANSACTION TOPIC and FORMAT, so "
                    "that none is ever seen in parts"
                ),
            )
    elif source.retain_ms is not None:
        check_history(catalog.relation(source.host))


def check_history(host: RelationEntry) -> None:
    """Raises ``InvalidOption`` for a guest with a history of its own."""
    raise InvalidOption(
        f"source {quoted_name(host.name)} has the transactions of these tables",
        hint="RETAIN HISTORY is said of it",
    )


def _over_the_same(upstream: Upstream, catalog: PlannerCatalog) -> list[RelationEntry]:
    if not isinstance(upstream, DebeziumConnector):
        return []
    return [
        entry
        for entry in catalog.relations()
        if entry.source is not None
        and isinstance(other := entry.source.connector, DebeziumConnector)
        and (other.brokers, other.transaction_topic)
        == (upstream.brokers, upstream.transaction_topic)
    ]

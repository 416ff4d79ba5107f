"""Sources that share the transactions of one connector: the first that is made is the host, those that follow are its guests.

All that a connector tells of its transactions is bound by the host, in its frontier group, so that none is ever at two times. Who
is a guest of whom follows from the definitions alone, for a host cannot go before its guests.
"""

from __future__ import annotations

from reclock.algebra.ids import GlobalId
from reclock.definitions.sources import DebeziumConnector, Format, Upstream
from reclock.errors import InvalidOption
from reclock.sql.catalog.definitions import SourceDefinition
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog


def host_of(upstream: Upstream, format: Format | None, catalog: PlannerCatalog) -> GlobalId | None:
    """The source that has the transactions which a new one over ``upstream`` would tell of, and reads them in the same way."""
    for entry in _over_the_same(upstream, catalog):
        source = entry.source
        if source is not None and source.host is None and (source.connector, source.format) == (upstream, format):
            return entry.id
    return None


def check_guest(source: SourceDefinition, catalog: PlannerCatalog) -> None:
    """Raises ``InvalidOption`` if the source would split the transactions of another, or wants as a guest what is its host's."""
    if source.host is None:
        for entry in _over_the_same(source.connector, catalog):
            raise InvalidOption(
                f'source "{entry.name}" has the transactions of these tables',
                hint="read them over the same CONNECTION, TRANSACTION TOPIC and FORMAT, so that none is ever seen in parts",
            )
    elif source.retain_ms is not None:
        check_history(catalog.relation(source.host))


def check_history(host: RelationEntry) -> None:
    """A guest has none of its own: raises ``InvalidOption``."""
    raise InvalidOption(f'source "{host.name}" has the transactions of these tables', hint="RETAIN HISTORY is said of it")


def _over_the_same(upstream: Upstream, catalog: PlannerCatalog) -> list[RelationEntry]:
    if not isinstance(upstream, DebeziumConnector):
        return []
    return [
        entry
        for entry in catalog.relations()
        if entry.source is not None
        and isinstance(other := entry.source.connector, DebeziumConnector)
        and (other.brokers, other.transaction_topic) == (upstream.brokers, upstream.transaction_topic)
    ]

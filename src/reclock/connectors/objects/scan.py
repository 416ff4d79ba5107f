"""Looks at the objects of a source, for what is new in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.connectors.connector import Skip
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.contents import ObjectContents
from reclock.connectors.objects.growth import Growth, is_gone
from reclock.connectors.objects.object_store import ListedObject, ObjectMissing
from reclock.connectors.objects.patterns import compile_pattern, literal_prefix
from reclock.connectors.objects.readings import UNKNOWN_VERSION, ObjectEvidence
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import DecodeFailed, ObjectsUnreadable, UpstreamChanged
from reclock.reclocking.remap import BoundRange

SPLIT_BYTES = 16 << 20
"""About how many bytes one task reads. A split ends with a record, or is a row group."""

_THREADS = 8


def probe(
    listed: Mapping[str, ListedObject],
    contents: ObjectContents,
    evidence: Mapping[str, ObjectEvidence],
    skips: Sequence[Skip] = (),
    *,
    until: Timestamp = MAXIMUM,
    only: Collection[str] | None = None,
) -> list[Growth]:
    """The growth of the source's ``listed`` objects beyond ``evidence``, cut back to what is complete, in
    order of key. Ignores objects modified at ``until`` or later, and keys that are not in ``only``,
    if it is given.

    An object with nothing new is included only to store new evidence: its version changed while
    its content did not; it has no rows; it was deleted, which is stored as its version; or one of
    ``skips`` covers the offset of its error, so that it is abandoned.

    Raises ``UpstreamUnavailable``; ``UpstreamChanged`` if an object shrank or what is bound of it
    changed; ``DecodeFailed`` if it has other columns or cannot be read; ``ObjectsUnreadable`` if
    several objects fail in these two ways.
    """
    known = evidence.keys() if only is None else evidence.keys() & set(only)
    keys = sorted(
        key
        for key in listed.keys() | known
        if _may_have_news(listed.get(key), evidence.get(key), until)
    )

    def look(key: str) -> Growth | UpstreamChanged | DecodeFailed | None:
        before = evidence.get(key, ObjectEvidence(key, 0, 0, UNKNOWN_VERSION))
        return _growth_or_error(contents, listed.get(key), before, skips)

    if len(keys) < 2:
        looks = [look(key) for key in keys]
    else:
        with ThreadPoolExecutor(min(_THREADS, len(keys))) as pool:
            looks = list(pool.map(look, keys))
    failures = [look for look in looks if isinstance(look, UpstreamChanged | DecodeFailed)]
    if failures:
        raise ObjectsUnreadable.of(failures)
    return [look for look in looks if isinstance(look, Growth)]


def _may_have_news(
    listed: ListedObject | None, before: ObjectEvidence | None, until: Timestamp
) -> bool:
    """Whether an object that is listed or was bound must be looked at: it was deleted, or it has
    another version than the one that was bound, written before ``until``."""
    if before is not None and before.is_abandoned:
        return False
    if listed is None:
        return before is not None and not before.is_deleted
    is_changed = before is None or listed.version != before.version
    return is_changed and listed.modified_at < until


def _growth_or_error(
    contents: ObjectContents,
    listed: ListedObject | None,
    before: ObjectEvidence,
    skips: Sequence[Skip],
) -> Growth | UpstreamChanged | DecodeFailed | None:
    """The growth of one object since ``before``, or why it cannot be read, unless ``skips`` cover
    that. None if there is nothing to store."""
    if listed is None:
        if not before.length:
            return None
        return Growth(before.key, before.length, before.length, before.deleted())
    try:
        return _grow(contents, listed, before)
    except (UpstreamChanged, DecodeFailed) as error:
        if any(
            before.partition == skipped and lower <= error.offset < upper
            for skipped, lower, upper in skips
        ):
            return Growth(before.key, before.length, before.length, before.abandoned())
        return error


def matching(
    listed: Sequence[ListedObject], connector: ObjectsConnector, contents: ObjectContents
) -> list[ListedObject]:
    """Those of the listed objects that the source reads, in the same order."""
    return [
        listed_object for listed_object in listed if _is_of(connector, contents, listed_object.key)
    ]


def _is_of(connector: ObjectsConnector, contents: ObjectContents, key: str) -> bool:
    return bool(compile_pattern(connector.pattern).fullmatch(key)) and contents.has_data(key)


def list_objects(
    store: Unzipped,
    connector: ObjectsConnector,
    contents: ObjectContents,
    only: Collection[str] | None = None,
) -> dict[str, ListedObject]:
    """The source's objects as a listing shows them, or only those with the keys ``only``."""
    if only is None:
        objects = store.list(connector.bucket, literal_prefix(connector.pattern))
        return {listed.key: listed for listed in matching(objects, connector, contents)}
    keys = [key for key in only if _is_of(connector, contents, key)]
    with ThreadPoolExecutor(_THREADS) as pool:
        looks = pool.map(lambda key: store.find(connector.bucket, key), keys)
        return {
            listed_object.key: listed_object for listed_object in looks if listed_object is not None
        }


def reread(
    store: Unzipped,
    connector: ObjectsConnector,
    contents: ObjectContents,
    before: ObjectEvidence,
) -> Growth | None:
    """The growth of an object since ``before``, as the object is now. It may be longer or shorter
    than what was claimed, or have other content.

    None if nothing remains, also if the object is gone and nothing of it had been bound before.
    Raises ``UpstreamChanged`` if what ``before`` covers changed.
    """
    listed_object = store.find(connector.bucket, before.key)
    if listed_object is None:
        if before.length:
            raise is_gone(before, contents.counted)
        return None
    return _grow(contents, listed_object, before)


def _grow(contents: ObjectContents, listed: ListedObject, before: ObjectEvidence) -> Growth | None:
    try:
        return contents.grow(listed, before)
    except ObjectMissing:
        if before.length:
            raise
        return None  # it went between the listing and now, and nothing of it was bound


def recall(
    store: Unzipped,
    connector: ObjectsConnector,
    contents: ObjectContents,
    ranges: Sequence[BoundRange],
    bound: Mapping[str, ObjectEvidence],
) -> dict[tuple[str, int], Growth]:
    """The growth for each bound range, by key and upper end. Raises ``UpstreamChanged`` unless all
    bytes have the checksum with which they were bound."""
    listed = {
        listed_object.key: listed_object
        for listed_object in store.list(connector.bucket, literal_prefix(connector.pattern))
    }
    by_name: dict[str, list[BoundRange]] = {}
    for bound_range in sorted(ranges, key=lambda bound_range: bound_range.lower):
        by_name.setdefault(str(bound_range.partition), []).append(bound_range)

    def look(name: str) -> list[Growth]:
        evidence = bound[name]
        if evidence.key not in listed:
            raise is_gone(evidence, contents.counted)
        return contents.recall(listed[evidence.key], evidence, by_name[name])

    with ThreadPoolExecutor(_THREADS) as pool:
        looks = pool.map(look, sorted(by_name))
        return {
            (growth.evidence.partition, growth.upper): growth
            for growths in looks
            for growth in growths
        }

"""Reads gzip-compressed objects as their contents: sizes, offsets and bytes are those of the
contents.

An object that is still being written can be read as far as it is complete. An object may be
appended to: a gzip file may have several members, one after another (RFC 1952). Gzip cannot be read
from the middle, so each range of an object is read from its beginning.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from reclock.connectors.objects.object_store import (
    CHUNK_BYTES,
    ListedObject,
    ObjectMissing,
    ObjectStore,
)
from reclock.errors import DecodeFailed

_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Unzipped:
    """The objects of ``store``. Objects that ``compression`` (see ``COMPRESSIONS``) says are
    compressed are read as their contents. A listing has the compressed sizes."""

    store: ObjectStore
    compression: str

    def list(self, bucket: str, prefix: str = "") -> list[ListedObject]:
        return self.store.list(bucket, prefix)

    def find(self, bucket: str, key: str) -> ListedObject | None:
        return self.store.find(bucket, key)

    def described(self, bucket: str) -> str:
        return self.store.described(bucket)

    def measured(self, bucket: str, listed: ListedObject) -> ListedObject:
        """The listed object with the size of its contents that can be read so far. Raises
        ``DecodeFailed`` if they are damaged."""
        if not self.is_compressed(listed.key):
            return listed
        return replace(listed, size=sum(len(chunk) for chunk in self._contents(bucket, listed)))

    def read(self, bucket: str, key: str, lower: int, upper: int) -> Iterator[bytes]:
        if not self.is_compressed(key):
            yield from self.store.read(bucket, key, lower, upper)
            return
        if lower >= upper:
            return
        listed = self.store.find(bucket, key)
        if listed is None:
            raise ObjectMissing(bucket, key)
        at = 0
        for chunk in self._contents(bucket, listed):
            piece = chunk[max(lower - at, 0) : max(upper - at, 0)]
            at += len(chunk)
            if piece:
                yield piece
            if at >= upper:
                return
        raise ObjectMissing(bucket, key, detail=f"its contents end at byte {at}, expected {upper}")

    def is_compressed(self, key: str) -> bool:
        return self.compression == "GZIP" or (
            self.compression == "AUTO" and key.lower().endswith(".gz")
        )

    def _contents(self, bucket: str, listed: ListedObject) -> Iterator[bytes]:
        """The contents, in chunks of at most ``CHUNK_BYTES``."""
        stream, at = zlib.decompressobj(_GZIP), 0
        try:
            for piece in self.store.read(bucket, listed.key, 0, listed.size):
                compressed = piece
                while compressed:
                    if stream.eof:  # another member follows
                        stream = zlib.decompressobj(_GZIP)
                    chunk = stream.decompress(compressed, CHUNK_BYTES)
                    compressed = stream.unused_data if stream.eof else stream.unconsumed_tail
                    at += len(chunk)
                    if chunk:
                        yield chunk
        except zlib.error as error:
            raise DecodeFailed(
                listed.key, at, detail=f"it is no gzip from there on: {error}"
            ) from error

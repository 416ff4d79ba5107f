"""The connector of Kinesis streams: a partition is a shard number, an offset a sequence number.

The API shows the newest record of a shard only to a reader that reads up to it. So a probe walks a
few pages from the bound offset towards the newest record, and binds the records that it passed;
executors read the same range again. A shard that was split or merged ends, and is bound up to its
end. Its children are read only after that, so no record gets an earlier time than a parent's.

The API does not report expired records. So the evidence beside the offset is the stream's creation
time, and a moment at which no record beyond the offset had arrived yet. While that moment lies
within the retention period, no record can be lost.

A stream that is created again begins with shard 0, and its sequence numbers may be any. RESNAPSHOT
makes the source follow it, as the next *incarnation*: offsets count on, since those of an
incarnation lie ``INCARNATION`` above those of the one before. So an offset says which stream it is
of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import (
    Bound,
    CheckResult,
    Evidence,
    Increment,
    Skip,
    remaining_ranges,
    skipped_ranges,
)
from reclock.connectors.kinesis.stream import (
    INCARNATION,
    Page,
    Shard,
    StreamDescription,
    base_of,
    connected,
    milliseconds,
    shard_id,
    shard_of,
)
from reclock.definitions.formats import Format
from reclock.definitions.sources import KinesisConnector
from reclock.errors import (
    SourceError,
    UpstreamChanged,
    UpstreamReplaced,
    UpstreamUnavailable,
    skip_statement,
)
from reclock.formats.bad_records import decoded_in_turn
from reclock.formats.messages import decode_messages

PROBE_PAGES = 4
"""The most pages of a shard that a probe reads."""

_PAGE_RECORDS = 10_000
_PAGE_BYTES = 10 << 20
"""The most records, and bytes of them, in a page."""
_GIVES_UP_ALL = ", and ALTER SOURCE … RESNAPSHOT gives up what any shard has lost"
_WALKERS = 8
"""How many shards a probe walks at a time."""


@dataclass(frozen=True, slots=True)
class ShardReadTask:
    """The records of a shard from ``begin`` to ``last``, both of which exist, without the ranges
    ``skipped``. The records that the probe passed have ``size_bytes``."""

    shard: int
    begin: int
    last: int
    skipped: tuple[tuple[int, int], ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Kinesis:
    """One stream at the moment ``now``, as a ``reclock.connectors.connector.Connector``."""

    upstream: KinesisConnector
    format: Format
    desc: RelationDesc
    now: Timestamp
    connect: Callable[..., Any] = connected
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Under boto3's names."""

    # --- in the driver ---

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        client = self._client()
        stream = self._describe(client, bound)
        self._check(stream, bound)
        return self._probe(client, stream, bound, skips)

    def is_replaced(self, bound: Bound) -> bool:
        """Also whether records may have expired before they were read."""
        client = self._client()
        stream = self._describe(client, bound)
        if stream.is_other(bound):
            return True
        try:
            self._probe(client, stream, bound, ())
        except UpstreamChanged:
            return True
        return False

    def probe_anew(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """Another stream is read from its oldest record. From a stream that lost records, reading
        goes on with those that are left."""
        client = self._client()
        stream = self._describe(client, bound)
        if not stream.is_other(bound):
            return self._probe(client, stream, bound, skips, gives_up=True)
        stream = replace(stream, base=stream.base + INCARNATION)
        increments = self._probe(client, stream, bound, skips)
        if not increments:  # the first pages of all shards are empty
            shard = min(stream.shards)
            lower = bound[shard][0] if shard in bound else 0
            evidence = (stream.created_at, stream.created_at, False)
            increments = [Increment(shard, lower, stream.base, stream.base - lower, evidence)]
        return increments

    def _probe(
        self,
        client: Any,
        stream: StreamDescription,
        bound: Bound,
        skips: Sequence[Skip],
        *,
        gives_up: bool = False,
    ) -> list[Increment]:
        """``gives_up``: whether records that may have expired are passed over."""
        new = self._expired_shards(stream, bound, skips, gives_up)
        current = stream.current(bound)
        ended = {number for number, (_, _, _, is_ended) in current.items() if is_ended} | {
            increment.partition for increment in new
        }
        waiting = [shard for shard in stream.shards.values() if shard.number not in ended]
        with ThreadPoolExecutor(_WALKERS) as pool:
            while ready := [
                shard for shard in waiting if not (shard.parents & stream.shards.keys()) - ended
            ]:
                walks = pool.map(
                    lambda shard: self._walk(client, stream, shard, bound, skips, gives_up), ready
                )
                increments = [increment for increment in walks if increment is not None]
                ended |= {increment.partition for increment in increments if increment.evidence[-1]}
                waiting = [shard for shard in waiting if shard not in ready]
                new += increments
        return sorted(new, key=lambda increment: int(increment.name))

    def _check(self, stream: StreamDescription, bound: Bound) -> None:
        for number, (offset, created_at, _, _) in sorted(stream.current(bound).items()):
            if created_at != stream.created_at:
                raise self._replaced(
                    int(str(number)),
                    offset,
                    "is of a stream that was deleted and created again",
                    f"it was made at {created_at}, now {stream.created_at}",
                    "ALTER SOURCE … RESNAPSHOT goes on with the stream that is there now",
                )

    def _expired_shards(
        self, stream: StreamDescription, bound: Bound, skips: Sequence[Skip], gives_up: bool
    ) -> list[Increment]:
        """The end of shards that expired before they were bound to their end. Raises
        ``UpstreamChanged`` unless the loss is given up."""
        increments = []
        for number, (offset, _, complete_at, is_ended) in sorted(stream.current(bound).items()):
            if number not in stream.shards and not is_ended:
                if not gives_up and remaining_ranges(number, offset, offset + 1, skips):
                    raise self._expired(
                        int(str(number)),
                        offset,
                        offset + 1,
                        "is gone, and not all of it was read",
                        f"it is bound up to {offset}",
                        _GIVES_UP_ALL,
                    )
                increments.append(
                    Increment(number, offset, offset, 0, (stream.created_at, complete_at, True))
                )
        return increments

    def _walk(
        self,
        client: Any,
        stream: StreamDescription,
        shard: Shard,
        bound: Bound,
        skips: Sequence[Skip],
        gives_up: bool,
    ) -> Increment | None:
        """The new records of one shard within a few pages; None if there are none."""
        current, base = stream.current(bound).get(shard.number), stream.base
        lower = current[0] if current is not None else base
        begin = last = arrived_at = None
        is_complete = is_end = False
        size_bytes = 0
        position = self._position(shard, base, lower)
        for page in islice(self._pages(client, shard.number, position, base), PROBE_PAGES):
            for record in page.records[:1]:
                begin = begin or base + int(record["SequenceNumber"])
            for record in page.records[-1:]:
                last, arrived_at = (
                    base + int(record["SequenceNumber"]),
                    milliseconds(record["ApproximateArrivalTimestamp"]),
                )
            size_bytes += sum(len(record["Data"]) for record in page.records)
            is_end = page.is_end
            is_complete = page.is_end or page.is_tip
            if page.is_end or (page.is_tip and shard.ending is None):
                break
        if not gives_up:
            self._check_retention(client, stream, shard.number, bound, begin, skips)
        upper = lower if last is None else last + 1
        is_ended = is_end and shard.ending is not None
        if is_ended and shard.ending is not None:
            upper = max(upper, base + shard.ending + 1)
        complete_at = int(self.now) if is_complete else arrived_at
        if complete_at is None:  # only empty pages so far, and more after them
            return None
        is_fresh = current is not None and complete_at - current[2] < stream.retention_ms // 4
        if upper == lower and is_fresh and not is_ended:
            return None
        evidence = (stream.created_at, complete_at, is_ended)
        lower = bound[shard.number][0] if shard.number in bound else 0
        detail = {"begin": begin, "last": last, "bytes": size_bytes}
        return Increment(shard.number, lower, upper, upper - lower, evidence, detail)

    def _check_retention(
        self,
        client: Any,
        stream: StreamDescription,
        shard: int,
        bound: Bound,
        begin: int | None,
        skips: Sequence[Skip],
    ) -> None:
        """Raises ``UpstreamChanged`` unless all records beyond the bound offset still exist, or are
        skipped."""
        current, base = stream.current(bound), stream.base
        complete_at = stream.complete_at(bound, shard)
        if complete_at is None or self.now - complete_at <= stream.retention_ms:
            return
        lower = current[shard][0] if shard in current else base
        if lower > base:  # they expire in order: while the last bound one exists, so do later ones
            position = {
                "ShardIteratorType": "AT_SEQUENCE_NUMBER",
                "StartingSequenceNumber": str(lower - 1 - base),
            }
            pages = islice(self._pages(client, shard, position, base), PROBE_PAGES)
            oldest = next((page.records[0] for page in pages if page.records), None)
            if oldest is not None and base + int(oldest["SequenceNumber"]) == lower - 1:
                return
        upper = lower + 1 if begin is None else begin
        if remaining_ranges(shard, lower, upper, skips):
            what = f"may have lost records from {lower} on to retention before they were read"
            left = f"the records that are left begin at {begin}" if begin else "no record is left"
            raise self._expired(shard, lower, upper, what, left, _GIVES_UP_ALL)

    def _position(self, shard: Shard, base: int, lower: int) -> dict[str, Any]:
        """The position to read from: after the bound offset, or where the source begins. Sequence
        numbers to start at are of the source's first stream."""
        if lower > base:
            return {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "StartingSequenceNumber": str(lower - 1 - base),
            }
        number = dict(self.upstream.start_numbers).get(shard.number)
        if number is not None and not base:
            return {
                "ShardIteratorType": f"{self.upstream.start}_SEQUENCE_NUMBER",
                "StartingSequenceNumber": str(number),
            }
        if self.upstream.start_timestamp is not None:
            return {
                "ShardIteratorType": "AT_TIMESTAMP",
                "Timestamp": self.upstream.start_timestamp / 1000,
            }
        return {"ShardIteratorType": "TRIM_HORIZON"}

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        """Records never change. The reading fails if some expired meanwhile."""
        return claimed

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[ShardReadTask]:
        pieces = []
        for increment in increments:
            begin, last = (increment.detail.get(name) for name in ("begin", "last"))
            if (
                begin is not None
                and last is not None
                and remaining_ranges(increment.partition, begin, last + 1, skips)
            ):
                skipped = skipped_ranges(increment.partition, skips)
                # claims of earlier releases do not have it
                size_bytes = increment.detail.get("bytes", PROBE_PAGES * _PAGE_BYTES)
                pieces.append(ShardReadTask(int(increment.name), begin, last, skipped, size_bytes))
        return pieces

    def size_bytes(self, task: ShardReadTask) -> int:
        return task.size_bytes

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Streams do not track readers."""

    def check(self, bound: Bound) -> Iterator[CheckResult]:
        stream = self._describe(self._client(), {})
        yield CheckResult(
            "stream",
            True,
            f'"{self.upstream.stream}" at "{self.upstream.endpoint or self.upstream.region}"',
        )
        open_shards = [
            str(shard.number) for shard in stream.shards.values() if shard.ending is None
        ]
        yield CheckResult("shards", True, f"{len(stream.shards)}; open: {', '.join(open_shards)}")
        yield CheckResult("retention", True, f"{stream.retention_ms // 3_600_000} hours")

    # --- in executors ---

    def read(self, task: ShardReadTask) -> Iterator[tuple[str, pa.Table]]:
        pages = (partial(self._decode, records, task.shard) for records in self._records(task))
        for rows in decoded_in_turn(pages):
            yield "", rows

    def _records(self, task: ShardReadTask) -> Iterator[list[tuple[int, Mapping[str, Any]]]]:
        """The records of the task in pages, each record with its offset. Raises
        ``UpstreamChanged``."""
        skips = [(str(task.shard), *range) for range in task.skipped]
        own_begin = task.begin % INCARNATION
        base = task.begin - own_begin
        position = {
            "ShardIteratorType": "AT_SEQUENCE_NUMBER",
            "StartingSequenceNumber": str(own_begin),
        }
        reached = None
        for page in self._pages(self._client(), task.shard, position, base):
            offsets = [base + int(record["SequenceNumber"]) for record in page.records]
            if (
                offsets
                and reached is None
                and remaining_ranges(task.shard, task.begin, offsets[0], skips)
            ):
                problem = f"no longer has sequence number {own_begin}"
                detail = f"retention took it; the records that are left begin at {offsets[0]}"
                raise self._expired(task.shard, task.begin, offsets[0], problem, detail)
            records = [
                (offset, record)
                for offset, record in zip(offsets, page.records, strict=True)
                if offset <= task.last and remaining_ranges(task.shard, offset, offset + 1, skips)
            ]
            if records:
                yield records
            reached = offsets[-1] if offsets else reached
            if reached is not None and reached >= task.last:
                return
            if page.is_tip:
                break
        problem = f"no longer has sequence number {task.last % INCARNATION}"
        raise self._expired(task.shard, task.begin, task.last + 1, problem, "retention took it")

    def _decode(self, records: Sequence[tuple[int, Mapping[str, Any]]], shard: int) -> pa.Table:
        offsets = [offset for offset, _ in records]
        width = len(self.desc) - len(self.upstream.include)
        values = [record["Data"] for _, record in records]
        rows = decode_messages(
            values,
            self.format,
            RelationDesc(self.desc.columns[:width]),
            partition=str(shard),
            offsets=offsets,
        )
        for kind, name in self.upstream.include:
            match kind:
                case "KEY":
                    array = pa.array([record["PartitionKey"] for _, record in records], pa.string())
                case "PARTITION":
                    array = pa.array([shard] * len(records), pa.int64())
                case "OFFSET":
                    numbers = [str(offset % INCARNATION) for offset in offsets]
                    array = pa.array(numbers, pa.string())
                case _:
                    moments = [
                        milliseconds(record["ApproximateArrivalTimestamp"]) for _, record in records
                    ]
                    array = (
                        pa.array(moments, pa.int64())
                        .cast(pa.timestamp("ms"))
                        .cast(pa.timestamp("us"))
                    )
            rows = rows.append_column(name, array)
        return rows

    # --- both ---

    def _client(self) -> Any:
        return self.connect(self.upstream.region, self.upstream.endpoint, **self.credentials)

    @property
    def _name(self) -> dict[str, str]:
        named = {"StreamName": self.upstream.stream}
        return {**named, "StreamARN": self.upstream.arn} if self.upstream.arn else named

    def _describe(self, client: Any, bound: Bound) -> StreamDescription:
        with self._answering(min(bound.items(), default=None)):
            summary = client.describe_stream_summary(**self._name)["StreamDescriptionSummary"]
            shards, more = [], self._name
            while more:
                answer = client.list_shards(**more)
                shards += answer["Shards"]
                more = {"NextToken": answer["NextToken"]} if answer.get("NextToken") else {}
        retention_ms = int(summary["RetentionPeriodHours"]) * 3_600_000
        listed = sorted((shard_of(shard) for shard in shards), key=lambda shard: shard.number)
        return StreamDescription(
            milliseconds(summary["StreamCreationTimestamp"]),
            retention_ms,
            {shard.number: shard for shard in listed},
            base_of(bound),
        )

    def _pages(
        self, client: Any, shard: int, position: Mapping[str, Any], base: int
    ) -> Iterator[Page]:
        """The pages of a shard from a position on, past the page that is the tip: they never end
        while the shard is open. ``base`` is for errors."""
        at = base + int(position.get("StartingSequenceNumber", 0))
        with self._answering((shard, (at,))):
            iterator = client.get_shard_iterator(**self._name, ShardId=shard_id(shard), **position)[
                "ShardIterator"
            ]
        while iterator is not None:
            with self._answering((shard, (at,))):
                answer = client.get_records(ShardIterator=iterator, Limit=_PAGE_RECORDS)
            records = answer["Records"]
            iterator = answer.get("NextShardIterator")
            is_tip = answer.get("MillisBehindLatest", 0) == 0 and len(records) < _PAGE_RECORDS
            yield Page(records, is_tip and iterator is not None, iterator is None)

    @contextmanager
    def _answering(self, bound: tuple[Any, Evidence] | None) -> Iterator[None]:
        """Turns the service's errors into the source's: into ``UpstreamReplaced`` if it refuses
        what was bound before, else into ``UpstreamUnavailable``."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            answer = error.response["Error"]
            code, detail = answer["Code"], f"{answer['Code']}: {answer.get('Message', '')}"
            if (
                bound is not None
                and bound[1][0]
                and code in ("ResourceNotFoundException", "InvalidArgumentException")
            ):
                raise self._replaced(
                    int(bound[0]),
                    bound[1][0],
                    "is gone, or is another one",
                    detail,
                    "once the stream is there again, ALTER SOURCE … RESNAPSHOT goes on with it",
                ) from error
            raise self._unavailable(detail) from error
        except BotoCoreError as error:
            raise self._unavailable(str(error)) from error

    def _expired(
        self, shard: int, lower: int, upper: int, what: str, detail: str, hint: str = ""
    ) -> UpstreamChanged:
        message = f'shard {shard} of stream "{self.upstream.stream}" {what}'
        hint = f"{skip_statement((str(shard), lower, upper))} gives them up{hint}"
        return UpstreamChanged(
            str(shard), lower, message=message, detail=detail, hint=hint, upper=upper
        )

    def _replaced(
        self, shard: int, offset: int, what: str, detail: str, hint: str
    ) -> UpstreamReplaced:
        message = f'shard {shard} of stream "{self.upstream.stream}" {what}'
        return UpstreamReplaced(str(shard), offset, message=message, detail=detail, hint=hint)

    def _unavailable(self, detail: str) -> SourceError:
        at = self.upstream.endpoint or self.upstream.region
        return UpstreamUnavailable(
            f'cannot read stream "{self.upstream.stream}" at "{at}"', detail=detail
        )

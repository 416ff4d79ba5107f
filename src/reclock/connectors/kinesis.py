"""The connector of Kinesis streams: a partition is a shard, called by its number; an offset is a sequence number.

The API does not tell where a shard ends but by reading on to it. So a probe walks from what is bound towards the newest record, for
a few pages, and binds what it has passed; executors read the same range again. A shard that was split or merged has an end, and is
bound to it; those that came of it are looked at only then, so that no record has an earlier time than one of its parent's.

Records expire, and the API is silent about those that did. So two things are kept beside the offset: when the stream was made, and
a moment at which nothing had arrived yet beyond the offset. While that lies within the retention period, nothing can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import Bound, CheckResult, Evidence, Increment, Skip, remaining_ranges, skipped_ranges
from reclock.definitions.sources import Format, KinesisConnector
from reclock.errors import SourceError, UpstreamChanged, UpstreamLost, UpstreamUnavailable
from reclock.formats.messages import decode_messages
from reclock.reclocking.frontiers import SourceFrontier

PROBE_PAGES = 4
"""How many pages of a shard a probe reads at most."""

_PAGE_RECORDS = 10_000
_WALKERS = 8
"""How many shards are walked at a time."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of the stream. ``ending`` is the greatest sequence number it may have, once it takes no more records."""

    number: int
    parents: frozenset[int]
    ending: int | None

    @property
    def id(self) -> str:
        return _shard_id(self.number)


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """What is known of the stream at a probe: when it was made, how long it keeps records, its shards by number."""

    created_at: int
    retention_ms: int
    shards: Mapping[int, Shard]


@dataclass(frozen=True, slots=True)
class ShardReadTask:
    """The records of a shard from ``begin`` to ``last``, both of which exist, without the ranges ``skipped``."""

    shard: int
    begin: int
    last: int
    skipped: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Some records in order. After the newest one there is a page that ``is_tip``, or ``is_end`` if the shard takes no more."""

    records: Sequence[Mapping[str, Any]]
    is_tip: bool
    is_end: bool


@lru_cache
def connected(region: str, endpoint: str, **credentials: str) -> Any:
    """A client of the service, with these credentials, or those that tools of AWS would find here. Calls that are throttled are
    repeated."""
    from boto3.session import Session
    from botocore.config import Config

    config = Config(retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=30)
    return Session().client("kinesis", region_name=region, endpoint_url=endpoint or None, config=config, **credentials)


@dataclass(frozen=True, slots=True)
class Kinesis:
    """One stream at the moment ``now``, as a ``reclock.connectors.connector.Connector``."""

    upstream: KinesisConnector
    format: Format
    desc: RelationDesc
    now: Timestamp
    connect: Callable[..., Any] = connected
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By boto3's names."""

    # --- in the driver ---

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        client = self._client()
        stream = self._describe(client, bound)
        self._check(stream, bound)
        new = self._gone(stream, bound, skips)
        ended = {number for number, (_, _, _, is_ended) in bound.items() if is_ended} | {increment.partition for increment in new}
        waiting = [shard for shard in stream.shards.values() if shard.number not in ended]
        with ThreadPoolExecutor(_WALKERS) as pool:
            while ready := [shard for shard in waiting if not (shard.parents & stream.shards.keys()) - ended]:
                walks = pool.map(lambda shard: self._walk(client, stream, shard, bound, skips), ready)
                increments = [increment for increment in walks if increment is not None]
                ended |= {increment.partition for increment in increments if increment.evidence[-1]}
                waiting = [shard for shard in waiting if shard not in ready]
                new += increments
        return sorted(new, key=lambda increment: int(increment.name))

    def _check(self, stream: StreamDescription, bound: Bound) -> None:
        for number, (offset, created_at, _, _) in sorted(bound.items()):
            if created_at != stream.created_at:
                what = "is of a stream that was deleted and created again"
                raise self._lost(int(str(number)), offset, what, f"it was made at {created_at}, now {stream.created_at}")

    def _gone(self, stream: StreamDescription, bound: Bound, skips: Sequence[Skip]) -> list[Increment]:
        """Shards that have expired before they were bound to their end, where that is given up."""
        increments = []
        for number, (offset, _, complete_at, is_ended) in sorted(bound.items()):
            if number not in stream.shards and not is_ended:
                if remaining_ranges(number, offset, offset + 1, skips):
                    detail = f"it is bound up to {offset}; to give up what followed, SKIP from {offset} to {offset + 1}"
                    raise self._changed(int(str(number)), offset, "is gone, and not all of it was read", detail)
                increments.append(Increment(number, offset, offset, 0, (stream.created_at, complete_at, True)))
        return increments

    def _walk(self, client: Any, stream: StreamDescription, shard: Shard, bound: Bound, skips: Sequence[Skip]) -> Increment | None:
        """What is new of one shard, as far as a few pages reach; None if nothing is."""
        kept = bound.get(shard.number)
        lower = kept[0] if kept is not None else 0
        begin = last = arrived_at = None
        is_complete = is_end = False
        for page in islice(self._pages(client, shard.number, self._position(shard, lower)), PROBE_PAGES):
            for record in page.records[:1]:
                begin = begin or int(record["SequenceNumber"])
            for record in page.records[-1:]:
                last, arrived_at = int(record["SequenceNumber"]), _milliseconds(record["ApproximateArrivalTimestamp"])
            is_end = page.is_end
            is_complete = page.is_end or page.is_tip
            if page.is_end or (page.is_tip and shard.ending is None):
                break
        self._check_retention(client, stream, shard.number, bound, begin, skips)
        upper = lower if last is None else last + 1
        is_ended = is_end and shard.ending is not None
        if is_ended and shard.ending is not None:
            upper = max(upper, shard.ending + 1)
        complete_at = int(self.now) if is_complete else arrived_at
        if complete_at is None:  # empty pages, and more behind them: nothing is known yet
            return None
        is_fresh = kept is not None and complete_at - kept[2] < stream.retention_ms // 4
        if upper == lower and is_fresh and not is_ended:
            return None
        evidence = (stream.created_at, complete_at, is_ended)
        return Increment(shard.number, lower, upper, upper - lower, evidence, {"begin": begin, "last": last})

    def _check_retention(
        self, client: Any, stream: StreamDescription, shard: int, bound: Bound, begin: int | None, skips: Sequence[Skip]
    ) -> None:
        """Raises ``UpstreamChanged`` unless everything beyond what is bound is still there, or given up."""
        complete_at = _complete_at(stream, bound, shard)
        if complete_at is None or self.now - complete_at <= stream.retention_ms:
            return
        lower = bound[shard][0] if shard in bound else 0
        if lower:  # records expire in order: while the last one that is bound is there, so is what follows
            position = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": str(lower - 1)}
            pages = islice(self._pages(client, shard, position), PROBE_PAGES)
            oldest = next((page.records[0] for page in pages if page.records), None)
            if oldest is not None and int(oldest["SequenceNumber"]) == lower - 1:
                return
        upper = lower + 1 if begin is None else begin
        if remaining_ranges(shard, lower, upper, skips):
            what = f"may have lost records from {lower} on to retention before they were read"
            raise self._changed(shard, lower, what, f"to go on with what there is, SKIP from {lower} to {upper}")

    def _position(self, shard: Shard, lower: int) -> dict[str, Any]:
        """Where to read on: after what is bound, or where the source begins."""
        if lower:
            return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": str(lower - 1)}
        number = dict(self.upstream.start_numbers).get(shard.number)
        if number is not None:
            return {"ShardIteratorType": f"{self.upstream.start}_SEQUENCE_NUMBER", "StartingSequenceNumber": str(number)}
        if self.upstream.start_timestamp is not None:
            return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": self.upstream.start_timestamp / 1000}
        return {"ShardIteratorType": "TRIM_HORIZON"}

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        """Records never change; those that expired meanwhile are missed by the reading."""
        return claimed

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[ShardReadTask]:
        pieces = []
        for increment in increments:
            begin, last = (increment.detail.get(name) for name in ("begin", "last"))
            if begin is not None and last is not None and remaining_ranges(increment.partition, begin, last + 1, skips):
                pieces.append(ShardReadTask(int(increment.name), begin, last, skipped_ranges(increment.partition, skips)))
        return pieces

    def acknowledge(self, frontier: SourceFrontier) -> None:
        """A stream does not know its readers."""

    def check(self) -> Iterator[CheckResult]:
        stream = self._describe(self._client(), {})
        yield CheckResult("stream", True, f'"{self.upstream.stream}" at "{self.upstream.endpoint or self.upstream.region}"')
        open_shards = [str(shard.number) for shard in stream.shards.values() if shard.ending is None]
        yield CheckResult("shards", True, f"{len(stream.shards)}; open: {', '.join(open_shards)}")
        yield CheckResult("retention", True, f"{stream.retention_ms // 3_600_000} hours")

    # --- in executors ---

    def read(self, task: ShardReadTask) -> Iterator[tuple[str, pa.Table]]:
        skips = [(str(task.shard), *range) for range in task.skipped]
        position = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": str(task.begin)}
        reached = None
        for page in self._pages(self._client(), task.shard, position):
            numbers = [int(record["SequenceNumber"]) for record in page.records]
            if numbers and reached is None and remaining_ranges(task.shard, task.begin, numbers[0], skips):
                what = f"no longer has sequence number {task.begin}"
                raise self._changed(task.shard, task.begin, what, f"retention took it; what is left begins at {numbers[0]}")
            wanted = [
                (number, record)
                for number, record in zip(numbers, page.records, strict=True)
                if number <= task.last and remaining_ranges(task.shard, number, number + 1, skips)
            ]
            if wanted:
                yield "", self._decode(wanted, task.shard)
            reached = numbers[-1] if numbers else reached
            if reached is not None and reached >= task.last:
                return
            if page.is_tip:
                break
        raise self._changed(task.shard, task.begin, f"no longer has sequence number {task.last}", "retention took it")

    def _decode(self, records: Sequence[tuple[int, Mapping[str, Any]]], shard: int) -> pa.Table:
        numbers = [number for number, _ in records]
        width = len(self.desc) - len(self.upstream.include)
        values = [record["Data"] for _, record in records]
        rows = decode_messages(values, self.format, RelationDesc(self.desc.columns[:width]), partition=str(shard), offsets=numbers)
        for kind, name in self.upstream.include:
            match kind:
                case "KEY":
                    array = pa.array([record["PartitionKey"] for _, record in records], pa.string())
                case "PARTITION":
                    array = pa.array([shard] * len(records), pa.int64())
                case "OFFSET":
                    array = pa.array([str(number) for number in numbers], pa.string())
                case _:
                    moments = [_milliseconds(record["ApproximateArrivalTimestamp"]) for _, record in records]
                    array = pa.array(moments, pa.int64()).cast(pa.timestamp("ms")).cast(pa.timestamp("us"))
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
        listed = sorted((_shard(shard) for shard in shards), key=lambda shard: shard.number)
        return StreamDescription(
            _milliseconds(summary["StreamCreationTimestamp"]), retention_ms, {shard.number: shard for shard in listed}
        )

    def _pages(self, client: Any, shard: int, position: Mapping[str, Any]) -> Iterator[Page]:
        """The pages of a shard from a position on, one that is or was the tip included; without an end while the shard is open."""
        at = int(position.get("StartingSequenceNumber", 0))
        with self._answering((shard, (at,))):
            iterator = client.get_shard_iterator(**self._name, ShardId=_shard_id(shard), **position)["ShardIterator"]
        while iterator is not None:
            with self._answering((shard, (at,))):
                answer = client.get_records(ShardIterator=iterator, Limit=_PAGE_RECORDS)
            records = answer["Records"]
            iterator = answer.get("NextShardIterator")
            is_tip = answer.get("MillisBehindLatest", 0) == 0 and len(records) < _PAGE_RECORDS
            yield Page(records, is_tip and iterator is not None, iterator is None)

    @contextmanager
    def _answering(self, bound: tuple[Any, Evidence] | None) -> Iterator[None]:
        """What the service refuses is the source's error: a definite one, if it is about something that was there before."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            answer = error.response["Error"]
            code, detail = answer["Code"], f"{answer['Code']}: {answer.get('Message', '')}"
            if bound is not None and bound[1][0] and code in ("ResourceNotFoundException", "InvalidArgumentException"):
                raise self._lost(int(bound[0]), bound[1][0], "is gone, or is another one", detail) from error
            raise self._unavailable(detail) from error
        except BotoCoreError as error:
            raise self._unavailable(str(error)) from error

    def _changed(self, shard: int, number: int, what: str, detail: str) -> SourceError:
        message = f'shard {shard} of stream "{self.upstream.stream}" {what}'
        return UpstreamChanged(str(shard), number, message=message, detail=detail)

    def _lost(self, shard: int, number: int, what: str, detail: str) -> UpstreamLost:
        message = f'shard {shard} of stream "{self.upstream.stream}" {what}'
        return UpstreamLost(str(shard), number, message=message, detail=detail)

    def _unavailable(self, detail: str) -> SourceError:
        at = self.upstream.endpoint or self.upstream.region
        return UpstreamUnavailable(f'cannot read stream "{self.upstream.stream}" at "{at}"', detail=detail)


def _shard(description: Mapping[str, Any]) -> Shard:
    parents = (description.get("ParentShardId"), description.get("AdjacentParentShardId"))
    ending = description["SequenceNumberRange"].get("EndingSequenceNumber")
    return Shard(
        _number(description["ShardId"]),
        frozenset(_number(parent) for parent in parents if parent),
        int(ending) if ending is not None else None,
    )


def _complete_at(stream: StreamDescription, bound: Bound, shard: int) -> int | None:
    """A moment when nothing had arrived yet beyond what is bound of the shard, or of its parents if it is not; None if unknown."""
    if shard in bound:
        return int(bound[shard][2])
    parents = stream.shards[shard].parents if shard in stream.shards else ()
    known = [at for parent in parents if (at := _complete_at(stream, bound, parent)) is not None]
    return min(known, default=None)


def _number(shard_id: str) -> int:
    """``shardId-000000000012`` is 12."""
    return int(shard_id.rpartition("-")[2])


def _shard_id(number: int) -> str:
    return f"shardId-{number:012}"


def _milliseconds(moment: Any) -> int:
    milliseconds: int = round(moment.timestamp() * 1000)
    return milliseconds

"""The connector of Kinesis streams: a partition is a shard number, an offset a sequence number.

The API shows the newest record of a shard only to a reader that reads up to it. So a probe walks a
few pages from the bound offset towards the newest record, and binds the records that it passed;
executors read the same range again. A shard that was split or merged ends, and is bound up to its
end. Its children are read only after that, so no record gets an earlier time than a parent's.

The API does not report expired records. So the evidence beside the offset is the stream's creation
time, and a moment at which no record beyond the offset had arrived yet. While that moment lies
within the retention period, no record can be lost.
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
from reclock.connectors.connector import (
    Bound,
    CheckResult,
    Evidence,
    Increment,
    Skip,
    remaining_ranges,
    skipped_ranges,
)
from reclock.definitions.formats import Format
from reclock.definitions.sources import KinesisConnector
from reclock.errors import SourceError, UpstreamChanged, UpstreamLost, UpstreamUnavailable
from reclock.formats.messages import decode_messages

PROBE_PAGES = 4
"""The most pages of a shard that a probe reads."""

_PAGE_RECORDS = 10_000
_WALKERS = 8
"""How many shards a probe walks at a time."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of the stream. ``ending`` is the greatest sequence number that a closed shard may
    have; None while it is open."""

    number: int
    parents: frozenset[int]
    ending: int | None

    @property
    def id(self) -> str:
        return _shard_id(self.number)


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """The stream at a probe: its creation time, its retention period, and its shards by number."""

    created_at: int
    retention_ms: int
    shards: Mapping[int, Shard]


@dataclass(frozen=True, slots=True)
class ShardReadTask:
    """The records of a shard from ``begin`` to ``last``, both of which exist, without the ranges
    ``skipped``."""

    shard: int
    begin: int
    last: int
    skipped: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Some records in order. A page ``is_tip`` if it reached the newest record, and ``is_end`` if
    its closed shard has no more."""

    records: Sequence[Mapping[str, Any]]
    is_tip: bool
    is_end: bool


@lru_cache
def connected(region: str, endpoint: str, **credentials: str) -> Any:
    """A client of the service, with these credentials or else those of the AWS provider chain. It
    retries throttled calls."""
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=30
    )
    return Session().client(
        "kinesis", region_name=region, endpoint_url=endpoint or None, config=config, **credentials
    )


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
        new = self._gone(stream, bound, skips)
        ended = {number for number, (_, _, _, is_ended) in bound.items() if is_ended} | {
            increment.partition for increment in new
        }
        waiting = [shard for shard in stream.shards.values() if shard.number not in ended]
        with ThreadPoolExecutor(_WALKERS) as pool:
            while ready := [
                shard for shard in waiting if not (shard.parents & stream.shards.keys()) - ended
            ]:
                walks = pool.map(
                    lambda shard: self._walk(client, stream, shard, bound, skips), ready
                )
                increments = [increment for increment in walks if increment is not None]
                ended |= {increment.partition for increment in increments if increment.evidence[-1]}
                waiting = [shard for shard in waiting if shard not in ready]
                new += increments
        return sorted(new, key=lambda increment: int(increment.name))

    def _check(self, stream: StreamDescription, bound: Bound) -> None:
        for number, (offset, created_at, _, _) in sorted(bound.items()):
            if created_at != stream.created_at:
                what = "is of a stream that was deleted and created again"
                raise self._lost(
                    int(str(number)),
                    offset,
                    what,
                    f"it was made at {created_at}, now {stream.created_at}",
                )

    def _gone(
        self, stream: StreamDescription, bound: Bound, skips: Sequence[Skip]
    ) -> list[Increment]:
        """The end of shards that expired before they were bound to their end. Raises
        ``UpstreamChanged`` unless ``skips`` cover the loss."""
        increments = []
        for number, (offset, _, complete_at, is_ended) in sorted(bound.items()):
            if number not in stream.shards and not is_ended:
                if remaining_ranges(number, offset, offset + 1, skips):
                    detail = (
                        f"it is bound up to {offset}; to give up what followed, SKIP from "
                        f"{offset} to {offset + 1}"
                    )
                    raise self._changed(
                        int(str(number)), offset, "is gone, and not all of it was read", detail
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
    ) -> Increment | None:
        """The new records of one shard within a few pages; None if there are none."""
        bound_evidence = bound.get(shard.number)
        lower = bound_evidence[0] if bound_evidence is not None else 0
        begin = last = arrived_at = None
        is_complete = is_end = False
        for page in islice(
            self._pages(client, shard.number, self._position(shard, lower)), PROBE_PAGES
        ):
            for record in page.records[:1]:
                begin = begin or int(record["SequenceNumber"])
            for record in page.records[-1:]:
                last = int(record["SequenceNumber"])
                arrived_at = _milliseconds(record["ApproximateArrivalTimestamp"])
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
        if complete_at is None:  # only empty pages so far, and more behind them
            return None
        is_fresh = (
            bound_evidence is not None
            and complete_at - bound_evidence[2] < stream.retention_ms // 4
        )
        if upper == lower and is_fresh and not is_ended:
            return None
        evidence = (stream.created_at, complete_at, is_ended)
        return Increment(
            shard.number, lower, upper, upper - lower, evidence, {"begin": begin, "last": last}
        )

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
        complete_at = _complete_at(stream, bound, shard)
        if complete_at is None or self.now - complete_at <= stream.retention_ms:
            return
        lower = bound[shard][0] if shard in bound else 0
        if lower:  # records expire in order: while the last bound record exists, so do later ones
            position = {
                "ShardIteratorType": "AT_SEQUENCE_NUMBER",
                "StartingSequenceNumber": str(lower - 1),
            }
            pages = islice(self._pages(client, shard, position), PROBE_PAGES)
            oldest = next((page.records[0] for page in pages if page.records), None)
            if oldest is not None and int(oldest["SequenceNumber"]) == lower - 1:
                return
        upper = lower + 1 if begin is None else begin
        if remaining_ranges(shard, lower, upper, skips):
            what = f"may have lost records from {lower} on to retention before they were read"
            raise self._changed(
                shard, lower, what, f"to go on with what there is, SKIP from {lower} to {upper}"
            )

    def _position(self, shard: Shard, lower: int) -> dict[str, Any]:
        """The position to read from: after the bound offset, or where the source begins."""
        if lower:
            return {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "StartingSequenceNumber": str(lower - 1),
            }
        number = dict(self.upstream.start_numbers).get(shard.number)
        if number is not None:
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
                pieces.append(
                    ShardReadTask(
                        int(increment.name), begin, last, skipped_ranges(increment.partition, skips)
                    )
                )
        return pieces

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Streams do not track readers."""

    def check(self) -> Iterator[CheckResult]:
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
        skips = [(str(task.shard), *range) for range in task.skipped]
        position = {
            "ShardIteratorType": "AT_SEQUENCE_NUMBER",
            "StartingSequenceNumber": str(task.begin),
        }
        reached = None
        for page in self._pages(self._client(), task.shard, position):
            numbers = [int(record["SequenceNumber"]) for record in page.records]
            if (
                numbers
                and reached is None
                and remaining_ranges(task.shard, task.begin, numbers[0], skips)
            ):
                what = f"no longer has sequence number {task.begin}"
                raise self._changed(
                    task.shard,
                    task.begin,
                    what,
                    f"retention took it; what is left begins at {numbers[0]}",
                )
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
        raise self._changed(
            task.shard,
            task.begin,
            f"no longer has sequence number {task.last}",
            "retention took it",
        )

    def _decode(self, records: Sequence[tuple[int, Mapping[str, Any]]], shard: int) -> pa.Table:
        numbers = [number for number, _ in records]
        width = len(self.desc) - len(self.upstream.include)
        values = [record["Data"] for _, record in records]
        rows = decode_messages(
            values,
            self.format,
            RelationDesc(self.desc.columns[:width]),
            partition=str(shard),
            offsets=numbers,
        )
        for kind, name in self.upstream.include:
            match kind:
                case "KEY":
                    array = pa.array([record["PartitionKey"] for _, record in records], pa.string())
                case "PARTITION":
                    array = pa.array([shard] * len(records), pa.int64())
                case "OFFSET":
                    array = pa.array([str(number) for number in numbers], pa.string())
                case _:
                    moments = [
                        _milliseconds(record["ApproximateArrivalTimestamp"])
                        for _, record in records
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
        listed = sorted((_shard(shard) for shard in shards), key=lambda shard: shard.number)
        return StreamDescription(
            _milliseconds(summary["StreamCreationTimestamp"]),
            retention_ms,
            {shard.number: shard for shard in listed},
        )

    def _pages(self, client: Any, shard: int, position: Mapping[str, Any]) -> Iterator[Page]:
        """The pages of a shard from a position on, past the page that is the tip: they never end
        while the shard is open."""
        at = int(position.get("StartingSequenceNumber", 0))
        with self._answering((shard, (at,))):
            iterator = client.get_shard_iterator(
                **self._name, ShardId=_shard_id(shard), **position
            )["ShardIterator"]
        while iterator is not None:
            with self._answering((shard, (at,))):
                answer = client.get_records(ShardIterator=iterator, Limit=_PAGE_RECORDS)
            records = answer["Records"]
            iterator = answer.get("NextShardIterator")
            is_tip = answer.get("MillisBehindLatest", 0) == 0 and len(records) < _PAGE_RECORDS
            yield Page(records, is_tip and iterator is not None, iterator is None)

    @contextmanager
    def _answering(self, bound: tuple[Any, Evidence] | None) -> Iterator[None]:
        """Turns the service's errors into the source's: into ``UpstreamLost`` if it refuses what
        was bound before, else into ``UpstreamUnavailable``."""
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
                raise self._lost(
                    int(bound[0]), bound[1][0], "is gone, or is another one", detail
                ) from error
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
        return UpstreamUnavailable(
            f'cannot read stream "{self.upstream.stream}" at "{at}"', detail=detail
        )


def _shard(description: Mapping[str, Any]) -> Shard:
    parents = (description.get("ParentShardId"), description.get("AdjacentParentShardId"))
    ending = description["SequenceNumberRange"].get("EndingSequenceNumber")
    return Shard(
        _number(description["ShardId"]),
        frozenset(_number(parent) for parent in parents if parent),
        int(ending) if ending is not None else None,
    )


def _complete_at(stream: StreamDescription, bound: Bound, shard: int) -> int | None:
    """A moment at which no record beyond the shard's bound offset had arrived yet (its parents', if
    the shard is not bound); None if unknown."""
    if shard in bound:
        return int(bound[shard][2])
    parents = stream.shards[shard].parents if shard in stream.shards else ()
    moments = [at for parent in parents if (at := _complete_at(stream, bound, parent)) is not None]
    return min(moments, default=None)


def _number(shard_id: str) -> int:
    """``shardId-000000000012`` is 12."""
    return int(shard_id.rpartition("-")[2])


def _shard_id(number: int) -> str:
    return f"shardId-{number:012}"


def _milliseconds(moment: Any) -> int:
    milliseconds: int = round(moment.timestamp() * 1000)
    return milliseconds

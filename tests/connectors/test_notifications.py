"""A queue says where to look: what it tells of is bound once, what it does not tell is found by the
scan, and a message goes only when nothing is missing of it."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import boto3
import pytest

from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.connectors.objects import notifications
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.connector import Objects
from reclock.connectors.objects.line_contents import LineContents
from reclock.connectors.objects.notifications import NotificationQueue
from reclock.connectors.objects.object_store import S3Buckets
from reclock.definitions.formats import JsonFormat
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import UpstreamChanged, UpstreamUnavailable

DESC = RelationDesc((Column("n", INTEGER),))


class Bucket:
    """A bucket that tells a queue what happens in it; its reader, as ticks that are published use
    it."""

    def __init__(self, endpoint: str) -> None:
        client = {
            "endpoint_url": endpoint,
            "region_name": "us-east-1",
            "aws_access_key_id": "k",
            "aws_secret_access_key": "s",
        }
        self.s3, self.sqs = boto3.client("s3", **client), boto3.client("sqs", **client)
        self.name = f"told-{uuid4().hex[:12]}"
        self.s3.create_bucket(Bucket=self.name)
        self.url = self.sqs.create_queue(QueueName=self.name)["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])[
            "Attributes"
        ]["QueueArn"]
        configuration = {
            "QueueConfigurations": [
                {"QueueArn": arn, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}
            ]
        }
        self.s3.put_bucket_notification_configuration(
            Bucket=self.name, NotificationConfiguration=configuration
        )
        self.client = client
        self.restart()
        self.bound: dict[Any, Any] = {}

    def restart(self) -> None:
        """Another process begins."""
        notifications._state_of.cache_clear()
        store = S3Buckets(self.client["endpoint_url"], "us-east-1", "k", "s")
        connector = ObjectsConnector(self.name, "in/**", queue=self.name)
        queue = NotificationQueue("u1", self.name, self.client)
        buckets = Unzipped(store, "AUTO")
        contents = LineContents(buckets, self.name, JsonFormat(), DESC)
        self.reader = Objects(buckets, connector, contents, queue)

    def put(self, *keys: str, text: str = '{"n": 1}\n') -> None:
        for key in keys:
            self.s3.put_object(Bucket=self.name, Key=key, Body=text.encode())

    def tick(self) -> list[str]:
        """What is bound, durably."""
        increments = self.reader.probe(self.bound)
        self.bound |= {found.partition: (found.upper, *found.evidence) for found in increments}
        return [found.name for found in increments]

    def waiting(self) -> int:
        """How many messages there are, whether somebody is reading them or not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)


@pytest.fixture
def bucket(s3_endpoint: str) -> Bucket:
    return Bucket(s3_endpoint)


def test_after_the_first_scan_only_what_is_told_is_looked_at(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put("in/a", "in/b c", "elsewhere/d")
    assert bucket.tick() == ["in/a", "in/b c"]
    monkeypatch.setattr(S3Buckets, "list", lambda *_: pytest.fail("it was listed"))
    bucket.put("in/e f+ü", "elsewhere/g")
    assert bucket.tick() == ["in/e f+ü"]
    assert bucket.tick() == []
    assert bucket.waiting() == 0


def test_a_message_goes_only_when_what_it_tells_of_is_bound(bucket: Bucket) -> None:
    bucket.tick()
    bucket.put("in/a")
    assert [found.name for found in bucket.reader.probe(bucket.bound)] == ["in/a"]
    assert bucket.waiting() == 1
    # a claim that was lost: nothing is forgotten
    assert [found.name for found in bucket.reader.probe(bucket.bound)] == ["in/a"]
    assert bucket.tick() == ["in/a"]
    assert bucket.waiting() == 1
    assert bucket.tick() == []
    assert bucket.waiting() == 0


def test_a_process_that_dies_leaves_its_messages_to_the_next(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.tick()
    monkeypatch.setattr(notifications, "_HIDDEN_S", 0)
    bucket.put("in/a", "in/b")
    bucket.reader.probe(bucket.bound)
    bucket.restart()
    assert bucket.tick() == ["in/a", "in/b"]  # by its scan
    assert bucket.waiting() == 2
    assert [bucket.tick(), bucket.tick()] == [[], []]
    assert bucket.waiting() == 0


def test_what_is_told_twice_out_of_order_or_wrongly_changes_nothing(bucket: Bucket) -> None:
    bucket.put("in/a")
    bucket.tick()
    event = {
        "Records": [
            {"s3": {"bucket": {"name": bucket.name}, "object": {"key": key}}}
            for key in ("in/a", "in/never")
        ]
    }
    wrapped = json.dumps({"Type": "Notification", "Message": json.dumps(event)})
    foreign = {"Records": [{"s3": {"bucket": {"name": "another"}, "object": {"key": "in/x"}}}]}
    bodies = [
        json.dumps(event),
        wrapped,
        json.dumps(foreign),
        json.dumps({"Event": "s3:TestEvent"}),
        "no json",
        "[1]",
        '{"Records": 1}',
    ]
    for body in bodies * 3:
        bucket.sqs.send_message(QueueUrl=bucket.url, MessageBody=body)
    bucket.put("in/a", text='{"n": 1}\n{"n": 2}\n')
    bucket.put("in/gone")
    bucket.s3.delete_object(Bucket=bucket.name, Key="in/gone")
    assert bucket.tick() == ["in/a"]
    assert bucket.tick() == []
    assert bucket.waiting() == 0


def test_what_was_never_told_is_found_by_the_scan_of_its_time(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.tick()
    bucket.put("in/a")
    bucket.sqs.purge_queue(QueueUrl=bucket.url)
    assert bucket.tick() == []
    monkeypatch.setattr("time.monotonic", lambda: 1e12)
    assert bucket.tick() == ["in/a"]


def test_an_error_of_one_object_forgets_neither_it_nor_the_others(bucket: Bucket) -> None:
    bucket.put("in/a")
    bucket.tick()
    bucket.put("in/b")
    bucket.put("in/a", text="")
    for _ in range(2):
        with pytest.raises(UpstreamChanged, match='"in/a" shrank'):
            bucket.tick()
    assert bucket.waiting() == 2 + 1  # one of a step before, which is bound
    assert [
        found.name for found in bucket.reader.probe(bucket.bound, [("in/a", 0, 10)]) if found.size
    ] == ["in/b"]


def test_a_queue_that_is_not_there_is_unavailable(bucket: Bucket) -> None:
    bucket.tick()
    assert bucket.reader.queue is not None
    assert "messages wait in" in bucket.reader.queue.check()
    with pytest.raises(UpstreamUnavailable, match='cannot read queue "missing"'):
        NotificationQueue("u1", "missing", bucket.client).check()

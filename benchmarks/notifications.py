"""Finding what is new in a bucket of 20,000 objects: by listing it, and by asking the queue that it
tells. The server is moto's, on this machine; what a tick does beside is the same for both."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import zlib
from typing import Any

import boto3

from benchmarks.figures import Figures, timed
from benchmarks.ports import free_port
from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.connector import Objects
from reclock.connectors.objects.line_contents import LineContents
from reclock.connectors.objects.notifications import NotificationQueue
from reclock.connectors.objects.object_store import S3Buckets
from reclock.definitions.formats import JsonFormat
from reclock.definitions.sources import ObjectsConnector

KEYS = int(os.environ.get("RECLOCK_BENCH_KEYS", "20000"))
NEW = 10
RUNS = 5
_CONTENT = b'{"n": 1}\n'
_SERVER = f"""
import sys
from moto.s3.models import s3_backends
from moto.server import main
backend = s3_backends["123456789012"]["aws"]
backend.create_bucket("bench", "us-east-1")
for number in range(int(sys.argv[1])):
    backend.put_object("bench", f"{{number % 100:02}}/{{number:06}}.json", {_CONTENT!r})
main(["-H", "127.0.0.1", "-p", sys.argv[2]])
"""
"""A server that has the objects when it answers."""

_DESC = RelationDesc((Column("n", INTEGER),))


def main() -> None:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(KEYS), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        _measure(f"http://127.0.0.1:{port}")
    finally:
        server.terminate()


def _measure(endpoint: str) -> None:
    client = {
        "endpoint_url": endpoint,
        "region_name": "us-east-1",
        "aws_access_key_id": "k",
        "aws_secret_access_key": "s",
    }
    s3, sqs = boto3.client("s3", **client), boto3.client("sqs", **client)

    def put(number: int) -> None:
        s3.put_object(Bucket="bench", Key=f"{number % 100:02}/{number:06}.json", Body=_CONTENT)

    url = sqs.create_queue(QueueName="bench")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    configuration = {"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]}
    s3.put_bucket_notification_configuration(
        Bucket="bench", NotificationConfiguration=configuration
    )
    store = Unzipped(S3Buckets(endpoint, "us-east-1", "k", "s"), "AUTO")
    contents = LineContents(store, "bench", JsonFormat(), _DESC)
    bound: dict[Any, Any] = {
        object.key: (object.size, zlib.crc32(_CONTENT), object.version)
        for object in store.list("bench")
    }
    assert len(bound) == KEYS
    next_key = KEYS
    for name, queue in (
        ("listing", None),
        ("notifications", NotificationQueue("u1", "bench", client)),
    ):
        reader = Objects(store, ObjectsConnector("bench", "**"), contents, queue)

        def look(reader: Objects = reader) -> int:
            probes = reader.probe(bound)
            bound.update({probe.partition: (probe.upper, *probe.evidence) for probe in probes})
            return len(probes)

        look()
        idle = Figures(tuple(timed(look) for _ in range(RUNS)))
        took = []
        for _ in range(RUNS):
            for number in range(next_key, next_key + NEW):
                put(number)
            next_key += NEW
            begun = time.perf_counter()
            assert look() == NEW
            took.append(time.perf_counter() - begun)
        print(f"{KEYS} objects, {name}: probe with nothing new {idle}")
        print(f"{KEYS} objects, {name}: probe with {NEW} new ones {Figures(tuple(took))}")

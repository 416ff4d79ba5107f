"""Sources over connections to AWS, through SQL and ticks: each reads with its own credentials, in
the driver and in executors."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest

from reclock.adapter.session.session import Session
from reclock.pipeline import tick
from reclock.runtime.environment import Environment


class Gate:
    """In front of an endpoint: it notes who asks for which bucket, and lets all pass."""

    def __init__(self, endpoint: str) -> None:
        self.seen: set[tuple[str, str, str]] = set()

        class Handler(BaseHTTPRequestHandler):
            def answer(handler) -> None:
                credential = re.search(
                    r"Credential=([^/]+)/", handler.headers.get("Authorization", "")
                )
                if credential is not None:
                    key = handler.path.partition("?")[0].strip("/")
                    self.seen.add(
                        (credential[1], handler.headers.get("X-Amz-Security-Token", ""), key)
                    )
                body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
                headers = {
                    name: value for name, value in handler.headers.items() if name.lower() != "host"
                }
                request = Request(  # noqa: S310
                    endpoint + handler.path, body or None, headers, method=handler.command
                )
                try:
                    answer = urlopen(request)  # noqa: S310
                except Exception as refused:
                    answer = refused
                content = answer.read()
                handler.send_response(answer.status)
                for name, value in answer.headers.items():
                    if name.lower() not in (
                        "content-length",
                        "transfer-encoding",
                        "connection",
                        "date",
                        "server",
                    ):
                        handler.send_header(name, value)
                handler.send_header(
                    "Content-Length",
                    answer.headers["Content-Length"]
                    if handler.command == "HEAD"
                    else str(len(content)),
                )
                handler.end_headers()
                handler.wfile.write(content)

            do_GET = do_HEAD = do_POST = do_PUT = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def gate(s3_endpoint: str) -> Iterator[Gate]:
    made = Gate(s3_endpoint)
    yield made
    made.server.shutdown()


def test_each_source_reads_with_its_own_credentials(
    gate: Gate, s3_endpoint: str, tmp_path: Path
) -> None:
    client = {
        "endpoint_url": s3_endpoint,
        "region_name": "us-east-1",
        "aws_access_key_id": "k",
        "aws_secret_access_key": "s",
    }
    s3, sqs = boto3.client("s3", **client), boto3.client("sqs", **client)
    url = sqs.create_queue(QueueName="told-one")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    for bucket in ("bucket-one", "bucket-two"):
        s3.create_bucket(Bucket=bucket)
    notifications = {"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]}
    s3.put_bucket_notification_configuration(
        Bucket="bucket-one", NotificationConfiguration=notifications
    )
    s3.put_object(Bucket="bucket-one", Key="a", Body=b"first\n")
    s3.put_object(Bucket="bucket-two", Key="z.gz", Body=gzip.compress(b"zipped\n"))
    with Environment.initialise(tmp_path / "home") as environment:
        session = Session(environment)

        def sql(text: str) -> list[tuple[Any, ...]]:
            *_, result = session.execute(text)
            return [tuple(row) for row in result.rows()]

        sql("CREATE SECRET hidden AS 'do-not-tell'")
        for n, more in (("one", ""), ("two", ", SESSION TOKEN 'for-a-while'")):
            keys = f"ACCESS KEY ID 'key-{n}', SECRET ACCESS KEY SECRET hidden{more}"
            sql(
                f"CREATE CONNECTION {n} TO AWS (ENDPOINT '{gate.address}', REGION "
                f"'us-east-1', {keys}) WITH (VALIDATE = FALSE)"
            )
        source = (
            "CREATE SOURCE {0} FROM S3 CONNECTION {0} DISCOVER OBJECTS USING BUCKET SCAN "
            "'bucket-{0}'{1} FORMAT TEXT"
        )
        sql(
            source.format("one", ", SQS NOTIFICATIONS 'told-one'").replace(
                "SOURCE one", "SOURCE s_one"
            )
        )
        sql(source.format("two", "").replace("SOURCE two", "SOURCE s_two"))
        tick.run(environment, owner="tick")
        s3.put_object(Bucket="bucket-one", Key="b", Body=b"second\n")
        s3.put_object(
            Bucket="bucket-two",
            Key="z.gz",
            Body=gzip.compress(b"zipped\n") + gzip.compress(b"twice\n"),
        )
        tick.run(environment, owner="tick")
        assert sorted(sql("SELECT text FROM s_one")) == [("first",), ("second",)]
        assert sorted(sql("SELECT text FROM s_two")) == [("twice",), ("zipped",)]
        tick.run(environment, owner="tick")
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        waiting = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        assert sum(int(waiting[name]) for name in names) == 0
        [(_, created)] = sql("SHOW CREATE SOURCE s_one")
        assert "SQS NOTIFICATIONS 'told-one'" in created
    assert {(who, token) for who, token, path in gate.seen if path.startswith("bucket-one")} == {
        ("key-one", "")
    }
    assert {(who, token) for who, token, path in gate.seen if path.startswith("bucket-two")} == {
        ("key-two", "for-a-while")
    }
    assert {"bucket-one/a", "bucket-one/b", "bucket-two/z.gz"} <= {path for _, _, path in gate.seen}
    contents = [path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert not any(b"do-not-tell" in content for content in contents)

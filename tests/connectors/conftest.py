"""Buckets of both kinds: folders of this machine, and an S3 endpoint on loopback."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fixtures.objects import s3_client

from reclock.connectors.objects.object_store import LocalBuckets, ObjectStore, S3Buckets


@dataclass
class Buckets:
    """A store under test, and another way to change what is in it."""

    store: ObjectStore
    put: Callable[[str, bytes], None]
    delete: Callable[[str], None]


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.servers)])
def buckets(request: pytest.FixtureRequest, tmp_path: Path) -> Buckets:
    """One empty bucket, "landing"."""
    if request.param == "local":
        return local_buckets(tmp_path)
    endpoint: str = request.getfixturevalue("s3_endpoint")
    client = s3_client(endpoint)
    client.create_bucket(Bucket="landing")
    for found in client.list_objects_v2(Bucket="landing").get("Contents", []):
        client.delete_object(Bucket="landing", Key=found["Key"])
    return Buckets(
        S3Buckets(endpoint, "us-east-1", "test", "test"),
        lambda key, content: client.put_object(Bucket="landing", Key=key, Body=content),
        lambda key: client.delete_object(Bucket="landing", Key=key),
    )


def local_buckets(root: Path) -> Buckets:
    folder = root / "landing"
    folder.mkdir()

    def put(key: str, content: bytes) -> None:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(content)

    return Buckets(LocalBuckets(str(root)), put, lambda key: (folder / key).unlink())

"""What an opened source carries of its connection: all that it takes to read, and nothing of it
shown."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.connectors.factory import ConnectionContext, open_connector
from reclock.connectors.objects.object_store import LocalBuckets
from reclock.definitions.connections import AWS, Connection, SecretReference
from reclock.definitions.formats import TextFormat
from reclock.definitions.sources import KinesisConnector, ObjectsConnector, SourceSpec

LINES = RelationDesc((Column("text", TEXT),))


def opened(upstream: Any) -> Any:
    """As executors get it."""
    context = ConnectionContext(
        LocalBuckets("/nowhere"), resolve_secret=lambda secret: f"value of {secret.name}"
    )
    connector = open_connector(
        SourceSpec(GlobalId("u1"), "s", upstream, TextFormat(), LINES), context
    )
    return pickle.loads(pickle.dumps(connector))  # noqa: S301 what we just wrote


def connection(name: str) -> Connection:
    options = (("ENDPOINT", f"http://{name}"), ("REGION", "eu"), ("ACCESS KEY ID", name))
    return Connection(
        AWS,
        (
            *options,
            ("SECRET ACCESS KEY", SecretReference(name, "r")),
            ("SESSION TOKEN", f"token of {name}"),
        ),
    )


def test_streams_are_read_each_with_the_credentials_of_its_connection() -> None:
    for name in ("one", "two"):
        stream = opened(
            KinesisConnector("taps", "eu", f"http://{name}", connection=connection(name))
        )
        assert "value of" not in repr(stream) + str(stream)
        clients: list[Any] = []
        replace(
            stream,
            connect=lambda *place, clients=clients, **credentials: clients.append(
                (place, credentials)
            ),
        )._client()
        keys = {
            "aws_access_key_id": name,
            "aws_secret_access_key": f"value of {name}",
            "aws_session_token": f"token of {name}",
        }
        assert clients == [(("eu", f"http://{name}"), keys)]


def test_buckets_are_read_each_with_the_credentials_of_its_connection() -> None:
    for name in ("one", "two"):
        objects = opened(ObjectsConnector("b", "**", connection=connection(name), queue="q"))
        assert "value of" not in repr(objects) + str(objects)
        buckets = objects.store.store
        assert (buckets.endpoint, buckets.access_key_id, buckets.secret_access_key) == (
            f"http://{name}",
            name,
            f"value of {name}",
        )
        assert objects.queue.client["aws_secret_access_key"] == f"value of {name}"

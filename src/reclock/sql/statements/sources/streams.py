"""The stream services that CREATE SOURCE describes, as values."""

from __future__ import annotations

import re

from reclock.definitions.connections import Connection
from reclock.definitions.sources import KinesisConnector, PubNubConnector
from reclock.errors import InvalidOption
from reclock.sql.statements.sources.upstreams_syntax import KinesisFrom, PubNubFrom, StreamStart

_ARN = re.compile(r"arn:aws[a-z-]*:kinesis:([a-z0-9-]+):(\d+):stream/([a-zA-Z0-9_.-]{1,128})")
_STREAM, _REGION = re.compile(r"[a-zA-Z0-9_.-]{1,128}"), re.compile(r"[a-z0-9-]+")
_ENDPOINT = re.compile(r"https?://[^/@\s]+/?")
_CHANNEL = re.compile(r"[^,:*/\\\s\x00-\x1f]{1,92}")
_SUBSCRIBE_KEY = re.compile(r"[A-Za-z0-9-]+")


def pubnub_connector(node: PubNubFrom) -> PubNubConnector:
    """The channel. Raises ``InvalidOption`` for an invalid name, key or origin."""
    key, channel = node.args["subscribe_key"].name, node.args["channel"].name
    origin = node.args["origin"].name if node.args.get("origin") is not None else ""
    if not _SUBSCRIBE_KEY.fullmatch(key):
        raise InvalidOption("a subscribe key is of letters, digits and hyphens")
    if not _CHANNEL.fullmatch(channel):
        raise InvalidOption(f'"{channel}" is not the name of one channel')
    if origin and not _ENDPOINT.fullmatch(origin):
        raise InvalidOption(
            f'"{origin}" is not an origin', hint="https://HOST, with a port where it needs one"
        )
    return PubNubConnector(key, channel, origin.rstrip("/"))


def kinesis_connector(
    node: KinesisFrom, include: tuple[tuple[str, str], ...], connection: Connection | None
) -> KinesisConnector:
    """The stream, by default at the region and endpoint of the connection.

    Raises ``InvalidOption`` for an invalid name, region, endpoint or start.
    """
    arn, stream, region, endpoint = (
        node.args[name].name if node.args.get(name) else ""
        for name in ("arn", "stream", "region", "endpoint")
    )
    connection_options = dict(connection.options) if connection is not None else {}
    endpoint = endpoint or str(connection_options.get("ENDPOINT", ""))
    region = region or str(connection_options.get("REGION", ""))
    if arn:
        match = _ARN.fullmatch(arn)
        if match is None:
            raise InvalidOption(
                f'"{arn}" is not the ARN of a stream',
                hint="arn:aws:kinesis:REGION:ACCOUNT:stream/NAME",
            )
        region, stream = match[1], match[3]
    if not _STREAM.fullmatch(stream) or not _REGION.fullmatch(region):
        raise InvalidOption(
            "a stream has a name and a region",
            hint="KINESIS (STREAM 'clicks', REGION 'eu-central-1')",
        )
    if endpoint and not _ENDPOINT.fullmatch(endpoint):
        raise InvalidOption(
            f'"{endpoint}" is not an endpoint', hint="https://HOST, with a port where it needs one"
        )
    start = node.args.get("start") or StreamStart(kind="TRIM HORIZON")
    timestamp = start.args.get("timestamp")
    numbers = [
        (int(shard.this.name[:19]), int(shard.args["number"].name[:80]))
        for shard in start.args.get("numbers") or ()
    ]
    if len(dict(numbers)) != len(numbers):
        raise InvalidOption("a shard has one start")
    return KinesisConnector(
        stream,
        region,
        endpoint,
        arn,
        start.args["kind"],
        int(timestamp.name[:19]) if timestamp is not None else None,
        tuple(numbers),
        include,
        connection,
    )

"""Kinesis streams: their shards, the offsets of their records, and their records as rows."""

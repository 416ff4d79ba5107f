"""Kafka topics: incarnations of a topic, their offsets, and their messages as rows."""

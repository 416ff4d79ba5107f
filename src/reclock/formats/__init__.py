"""Bytes to rows and rows to bytes: CSV, JSON, text, Avro, Protobuf, and the schemas they are decoded by."""

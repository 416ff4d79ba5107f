"""Decodes bytes to rows: CSV, JSON, text, Avro and Protobuf, with their schemas and registries."""

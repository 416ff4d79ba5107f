"""The ingestion step: decode, stage, and carry a claim from what was reached to what is published."""

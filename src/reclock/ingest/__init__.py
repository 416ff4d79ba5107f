"""The ingestion step: from new upstream offsets to published rows, under a claim."""

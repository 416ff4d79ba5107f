"""COPY."""

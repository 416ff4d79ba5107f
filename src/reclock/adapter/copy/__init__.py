"""COPY: rows in and out, as text, CSV and binary."""
